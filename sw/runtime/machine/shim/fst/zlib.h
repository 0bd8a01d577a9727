// What Verilator's FST writer needs of zlib, without compression: stored blocks.
// Stands in for the library, whose header most machines lack. Source: RFC 1950, RFC 1951 (3.2.4).
#pragma once

#include <cstdint>
#include <cstring>

using Bytef = unsigned char;
using uLong = unsigned long;
using uLongf = unsigned long;

constexpr int Z_OK = 0;
constexpr int Z_BUF_ERROR = -5;
constexpr uLong ZLIB_STORED_BLOCK = 65535;

inline uLong compressBound(uLong size) { return size + 5 * (size / ZLIB_STORED_BLOCK + 1) + 6; }

inline int compress2(Bytef* target, uLongf* target_size, const Bytef* source, uLong size, int) {
    if (*target_size < compressBound(size)) return Z_BUF_ERROR;
    Bytef* out = target;
    *out++ = 0x78;
    *out++ = 0x01;
    uLong done = 0;
    do {
        const uLong length = size - done < ZLIB_STORED_BLOCK ? size - done : ZLIB_STORED_BLOCK;
        *out++ = done + length == size;
        *out++ = length & 255;
        *out++ = length >> 8;
        *out++ = ~length & 255;
        *out++ = (~length >> 8) & 255;
        std::memcpy(out, source + done, length);
        out += length;
        done += length;
    } while (done < size);
    uint32_t low = 1, high = 0;
    for (uLong i = 0; i < size; ++i) {
        low = (low + source[i]) % 65521;
        high = (high + low) % 65521;
    }
    for (uint32_t half : {high, low}) {
        *out++ = half >> 8;
        *out++ = half & 255;
    }
    *target_size = out - target;
    return Z_OK;
}
