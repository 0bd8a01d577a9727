// What Verilator's FST writer needs of LZ4, without compression: one sequence of literals.
// Stands in for the library, whose header most machines lack.
// Source: "LZ4 Block Format Description", lz4 project, doc/lz4_Block_format.md.
#pragma once

#include <cstring>

inline int LZ4_compressBound(int size) { return size + size / 255 + 16; }

inline int LZ4_compress_default(const char* source, char* target, int size, int capacity) {
    if (capacity < LZ4_compressBound(size)) return 0;
    char* out = target;
    *out++ = static_cast<char>(size < 15 ? size << 4 : 15 << 4);
    if (size >= 15) {
        int rest = size - 15;
        for (; rest >= 255; rest -= 255) *out++ = static_cast<char>(255);
        *out++ = static_cast<char>(rest);
    }
    std::memcpy(out, source, size);
    return static_cast<int>(out - target) + size;
}
