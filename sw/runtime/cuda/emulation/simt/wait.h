#pragma once

namespace gnarl_emulation {

// What a thread can wait at. The order is that of NAMES in simt.cpp.
enum class Wait : unsigned char {
    nothing,
    // All threads of the block.
    syncthreads,
    syncthreads_count,
    syncthreads_and,
    syncthreads_or,
    // The lanes of a mask.
    syncwarp,
    shfl,
    shfl_up,
    shfl_down,
    shfl_xor,
    ballot,
    all,
    any,
    match_any,
    reduce_add,
    reduce_min,
    reduce_max,
    reduce_min_signed,
    reduce_max_signed,
    reduce_and,
    reduce_or,
    reduce_xor,
};

}  // namespace gnarl_emulation
