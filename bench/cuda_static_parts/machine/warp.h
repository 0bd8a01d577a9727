// What a warp, a block and a launch are made of.
#pragma once

#include <cstdint>
#include <vector>

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

constexpr int LANES = 32;
constexpr u32 ALL = ~0u;
constexpr int PREDICATES = 16;  // P0 to P6, PT, UP0 to UP6, UPT
constexpr int TRUE = 7;
constexpr int CONVERGENCES = 16;
constexpr int BARRIERS = 16;
constexpr u32 LOCAL_BYTES = 1024;  // of a thread
constexpr u32 RESERVED_SHARED = 1024;

enum Operation : u16 {
#define OPERATION(name) name,
#include "operations.h"
#undef OPERATION
};

using Row = u32[LANES];  // a register of all lanes

enum Flags : u8 { NEGATED = 1, ABSOLUTE_VALUE = 2, INVERTED = 4 };

// The layout of `OPERAND` in decode.py. `row`: of the warp's registers; below 0, of the pool.
// `flags`: `Flags`, and from bit 8 on the first bit of the part that is meant.
struct Operand {
    i32 row;
    u32 flags;
};

struct Guard {
    u8 predicate;
    u8 negated;
};

// The layout of `INSTRUCTION` in decode.py.
struct Instruction {
    u16 operation;
    Guard guard;
    Guard inputs[3];
    u8 outputs[2];  // predicates
    u8 uniform;     // whether its result is one for all lanes
    u8 count;       // of registers in the result, of a load or store
    i32 result;     // row, -1 for none
    i32 target;     // of branches
    u32 mode;
    i32 offset;
    Operand operands[4];
};

struct Statistics {
    u64 executed;  // by warps
    u64 active;    // by lanes
    u64 effective; // by lanes whose guard holds
};

// Marked loads that are on their way together: from the first to the first use of any of them.
struct Bursts {
    u64 bursts, loads, bytes;
    u64 whole;  // bytes, if all lanes took part
};

// The layout of `MARK` in kernels.py: of a marked load the registers that it writes, of all
// instructions those that they read; a bit for each.
struct Mark {
    u64 reads[4], writes[4];
};

// Lanes of a warp that go on together.
struct Strand {
    enum State : u8 { ready, at_convergence, at_sync, at_barrier };
    u32 mask;
    u32 at;
    State state;
    u8 number;  // of the barrier
    u32 wanted; // lanes that it waits for
};

struct Warp {
    Row* registers;
    u32 predicates[PREDICATES];
    u32 convergence[CONVERGENCES][LANES];  // the lanes that a lane waits for there
    std::vector<Strand> strands;
    u32 alive;
    u32 number;  // in the block
    u32 barrier_result;
    u8* local;
    u64 pending[4];  // registers of a burst
    u32 loads, bytes, whole;  // in it
};

struct Barrier {
    u32 arrived, any, all, count;
};

struct Block {
    u32 number, multiprocessor;
    std::vector<Warp> warps;
    std::vector<u8> shared;
    Barrier barriers[BARRIERS];
    u32 threads_alive;
};

// The layout of `_Region` in kernels.py.
struct Region {
    u64 start, bytes, writable;
};
