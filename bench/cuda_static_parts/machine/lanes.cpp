// What lanes know of themselves, and of each other.
#include <algorithm>

#include "machine.h"

namespace {

template <class T>
u32 reduced(u32 how, T a, T b) {
    switch (how) {
        case 0: return a + b;
        case 1: return std::min(a, b);
        case 2: return std::max(a, b);
        case 3: return a & b;
        case 4: return a | b;
        default: return a ^ b;
    }
}

}  // namespace

void Step::write_all(u32 value) {
    Row result;
    std::fill(std::begin(result), std::end(result), value);
    write(instruction.result, result);
}

void Step::special() {
    Row result;
    for (int i = 0; i < LANES; ++i) {
        u32 value = 0;
        switch (instruction.mode) {
            case 0: value = warp.number * LANES + i; break;
            case 1: value = block.number; break;
            case 2: value = i; break;
            case 3: value = block.multiprocessor; break;
            case 4: value = 1u << i; break;
            case 5: value = (1u << i) - 1; break;
            case 6: value = (2u << i) - 1; break;
            case 7: value = ~((2u << i) - 1); break;
            case 8: value = ~((1u << i) - 1); break;
        }
        result[i] = value;
    }
    write(instruction.result, result);
}

void Step::shuffle() {
    Row room0, room1, room2, result;
    const u32* a = integer(0, room0);
    const u32* b = integer(1, room1);
    const u32* c = integer(2, room2);
    u32 valid = 0;
    for (int lane = 0; lane < LANES; ++lane) {
        const int clamp = c[lane] & 31, segment = c[lane] >> 8 & 31;
        const int most = (lane & segment) | (clamp & ~segment);
        const int least = lane & segment, by = b[lane] & 31;
        int from = lane;
        bool inside = false;
        switch (instruction.mode) {
            case 0: from = least | (by & ~segment); inside = from <= most; break;
            case 1: from = lane - by; inside = from >= most; break;
            case 2: from = lane + by; inside = from <= most; break;
            default: from = lane ^ by; inside = from <= most;
        }
        if (!inside) from = lane;
        valid |= u32(inside) << lane;
        result[lane] = a[from];
    }
    write(instruction.result, result);
    write_predicate(0, valid);
}

void Step::vote() {
    const u32 votes = predicate(instruction.inputs[0]) & lanes;
    write_all(votes);
    const bool holds = instruction.mode == 0 ? votes == lanes : votes != 0;
    write_predicate(0, holds ? ALL : 0);
}

void Step::reduce() {
    const Row& values = row(instruction.operands[0].row);
    const u32 how = instruction.mode & 15;
    const u32 first = __builtin_ctz(lanes);
    u32 total = values[first];
    for (u32 i = first + 1; i < LANES; ++i) {
        if (!(lanes >> i & 1)) continue;
        total = instruction.mode & 16 ? reduced<i32>(how, total, values[i])
                                      : reduced<u32>(how, total, values[i]);
    }
    write_all(total);
}

void Step::match() {
    const Row& values = row(instruction.operands[0].row);
    Row result;
    for (int i = 0; i < LANES; ++i) {
        result[i] = 0;
        for (int j = 0; j < LANES; ++j) {
            result[i] |= u32(lanes >> j & 1 && values[i] == values[j]) << j;
        }
    }
    write(instruction.result, result);
}

void Step::clear() {
    const Row zeroes = {};
    for (int at = 0; at < instruction.count && instruction.result >= 0; ++at) {
        write(instruction.result + at, zeroes);
    }
}

bool Step::of_lanes() {
    switch (instruction.operation) {
        case SPECIAL: special(); return true;
        case ZERO_WIDE: clear(); return true;
        case TO_UNIFORM:
            write_all(row(instruction.operands[0].row)[__builtin_ctz(lanes)]);
            return true;
        case SHUFFLE: shuffle(); return true;
        case VOTE: vote(); return true;
        case REDUCE: reduce(); return true;
        case MATCH: match(); return true;
    }
    return false;
}
