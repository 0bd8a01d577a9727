// Comparisons, by their numbers in machine code's mode.
#pragma once

#include "warp.h"

template <class T>
bool holds(u32 comparison, T a, T b) {
    switch (comparison) {
        case 0: return false;
        case 1: return a < b;
        case 2: return a == b;
        case 3: return a <= b;
        case 4: return a > b;
        case 5: return a != b;
        case 6: return a >= b;
        default: return true;
    }
}

template <class T>
u32 all_that_hold(u32 comparison, const T* a, const T* b) {
    u32 bits = 0;
    for (int i = 0; i < LANES; ++i) bits |= u32(holds(comparison, a[i], b[i])) << i;
    return bits;
}

inline u32 combined(u32 how, u32 a, u32 b) { return how == 0 ? a & b : how == 1 ? a | b : a ^ b; }
