// The state of a launch: what its scheduler, its warp operations and its memory share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wait.h"

namespace gnarl_emulation {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 WARP = 32;
constexpr u32 MOST_THREADS = 1024;
constexpr u32 MOST_ARGUMENTS = 16;
constexpr u32 MOST_POLLS = 10'000'000;
constexpr u32 SHARED_BYTES = 256 << 10;

// The layout of `_Region` and `_Statistics` in emulation.py.
struct Region {
    std::uintptr_t start;
    u64 bytes;
    u64 writable;
    const char* name;
};

struct Statistics {
    u64 blocks, threads;
    u64 global_loads, global_stores, global_load_bytes, global_store_bytes;
    u64 shared_loads, shared_stores;
    u64 atomics, barriers, warp_operations;
};

const char* name_of(Wait wait);

struct Thread {
    void* context;         // where it goes on, once it is ready again
    unsigned char* stack;  // lowest address
    Wait wait;
    bool exited;
    u32 mask;        // of the warp operation it waits at
    u32 width;       // of a shuffle
    u32 lane;        // a shuffle's source, delta or lane mask
    u64 value;       // what it brings
    u64 result;      // what it gets
    const char* file;  // of the call it waits at
    int line;
};

struct Current {
    u32 index;  // in the block
    u32 warp, lane;
    std::uintptr_t stack;
};

// What lies in one launch and, for the innermost fields, in one block.
struct Machine {
    Thread threads[MOST_THREADS];
    Current current;
    u32 grid, block;  // blocks, threads a block
    u32 block_index;
    u32 shared_bytes;
    Statistics count;
    u64 timer_calls;
    u32 polls;  // by the running thread since it last waited
};
extern Machine machine;

// The lanes of a warp that exist: the last warp of a block may be short.
inline u32 lanes_of(u32 warp) {
    u32 left = machine.block - warp * WARP;
    return left >= WARP ? ~0u : (1u << left) - 1;
}

// Ends the launch with an error. Text as printf's; `@<hex>@` in it stands for an address in this
// library's code whose source line is to be shown.
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Makes the running thread wait until `ready` names it, or ends the launch if it never can.
void suspend();
void ready(u32 thread);

void begin_block_warps();

// Why some thread waits at a warp operation that cannot complete; returns if none does.
void diagnose_warps();

}  // namespace gnarl_emulation
