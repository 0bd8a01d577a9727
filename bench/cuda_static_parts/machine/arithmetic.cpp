// What instructions compute in registers.
#include <algorithm>
#include <cmath>

#include "machine.h"

namespace {

u32 permute(u32 a, u32 selector, u32 b) {
    const u64 bytes = u64(b) << 32 | a;
    u32 result = 0;
    for (int to = 0; to < 4; ++to) {
        u32 digit = selector >> 4 * to & 15;
        u32 byte = bytes >> 8 * (digit & 7) & 0xff;
        if (digit & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << 8 * to;
    }
    return result;
}

u32 look_up(u32 table, u32 a, u32 b, u32 c) {
    u32 result = 0;
    for (int entry = 0; entry < 8; ++entry) {
        if (!(table >> entry & 1)) continue;
        result |= (entry & 4 ? a : ~a) & (entry & 2 ? b : ~b) & (entry & 1 ? c : ~c);
    }
    return result;
}

u32 leading(u32 value, u32 mode) {
    if (mode & 1 && static_cast<i32>(value) < 0) value = ~value;
    if (!value) return ALL;
    u32 place = 31 - __builtin_clz(value);
    return mode & 2 ? 31 - place : place;
}

u32 reversed(u32 x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}

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

u32 combined(u32 how, u32 a, u32 b) { return how == 0 ? a & b : how == 1 ? a | b : a ^ b; }

// To the nearest, or, by `rounding`, down, up, to zero.
float rounded(long double exact, u32 rounding) {
    float result = static_cast<float>(exact);
    const long double rough = result;
    if (rounding == 1 && rough > exact) return std::nextafterf(result, -INFINITY);
    if (rounding == 2 && rough < exact) return std::nextafterf(result, INFINITY);
    if (rounding == 3 && std::fabs(rough) > std::fabs(exact)) return std::nextafterf(result, 0);
    return result;
}

u32 bits_of(float value) {
    u32 bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}

u32 to_half(float value) {
    const _Float16 half = static_cast<_Float16>(value);
    u16 bits;
    std::memcpy(&bits, &half, 2);
    return bits;
}

u32 to_brain_float(float value) {
    const u32 bits = bits_of(value);
    if (value != value) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

float function_of(u32 function, float a) {
    switch (function) {
        case 0: return 1.0f / a;
        case 1: return static_cast<float>(1.0 / std::sqrt(double(a)));
        case 2: return std::sqrt(a);
        case 3: return std::exp2(a);
        default: return std::log2(a);
    }
}

}  // namespace

// An operand of a sum whose carry counts: -x is ~x + 1, and where a carry comes in the 1 is part of it.
u64 Step::term(int operand, int lane, bool carries) const {
    const Operand& from = instruction.operands[operand];
    const u32 value = row(from.row)[lane];
    if (from.flags & INVERTED || (carries && from.flags & NEGATED)) return u32(~value);
    return from.flags & NEGATED ? u64(u32(~value)) + 1 : value;
}

void Step::add3() {
    const Instruction& each = instruction;
    const bool carries = each.mode & 1;
    const u32 ins[2] = {predicate(each.inputs[0]), predicate(each.inputs[1])};
    Row result;
    u32 first = 0, second = 0;
    for (int i = 0; i < LANES; ++i) {
        u64 sum = term(0, i, carries) + term(1, i, carries) + term(2, i, carries);
        if (carries) {
            sum += ins[0] >> i & 1;
            if (each.inputs[1].predicate != TRUE) sum += ins[1] >> i & 1;
        }
        result[i] = static_cast<u32>(sum);
        first |= u32((sum >> 32) > 0) << i;
        second |= u32((sum >> 32) > 1) << i;
    }
    write(each.result, result);
    write_predicate(0, first);
    write_predicate(1, second);
}

void Step::lea_high() {
    const Instruction& each = instruction;
    const bool carries = each.mode & 1, extends = each.mode & 2;
    Row room_a, room_c, result;
    const u32* a = integer(0, room_a);
    const u32* c = integer(2, room_c);
    const u32 carry = carries ? predicate(each.inputs[0]) : 0;
    u32 out = 0;
    for (int i = 0; i < LANES; ++i) {
        u64 wide = extends ? u64(i64(i32(a[i]))) : u64(c[i]) << 32 | a[i];
        u64 sum = u64(u32(wide << each.offset >> 32)) + term(1, i, carries) + (carry >> i & 1);
        result[i] = static_cast<u32>(sum);
        out |= u32(sum >> 32) << i;
    }
    write(each.result, result);
    write_predicate(0, out);
}

void Step::logic() {
    Row room0, room1, room2, result;
    const u32* a = integer(0, room0);
    const u32* b = integer(1, room1);
    const u32* c = integer(2, room2);
    const u32 table = instruction.mode & 0xff;
    u32 some = 0;
    switch (table) {
        case 0xc0: for (int i = 0; i < LANES; ++i) result[i] = a[i] & b[i]; break;
        case 0xfc: for (int i = 0; i < LANES; ++i) result[i] = a[i] | b[i]; break;
        default: for (int i = 0; i < LANES; ++i) result[i] = look_up(table, a[i], b[i], c[i]);
    }
    for (int i = 0; i < LANES; ++i) some |= u32(result[i] != 0) << i;
    write(instruction.result, result);
    const u32 other = predicate(instruction.inputs[0]);
    write_predicate(0, instruction.mode >> 8 ? some & other : some | other);
}

void Step::compare() {
    const u32 mode = instruction.mode, comparison = mode & 7;
    Row room0, room1;
    const u32* a = integer(0, room0);
    const u32* b = integer(1, room1);
    u32 bits = mode & 32 ? all_that_hold(comparison, reinterpret_cast<const i32*>(a),
                                         reinterpret_cast<const i32*>(b))
                         : all_that_hold(comparison, a, b);
    if (mode & 64) {  // of a number's upper half
        const u32 lower = predicate(instruction.inputs[1]);
        const u32 equal = all_that_hold(2, a, b);
        bits = (bits & ~equal) | (lower & equal);
    }
    const u32 other = predicate(instruction.inputs[0]);
    write_predicate(0, combined(mode >> 3 & 3, bits, other));
    write_predicate(1, combined(mode >> 3 & 3, ~bits, other));
}

void Step::compare_reals() {
    const u32 mode = instruction.mode;
    float room0[LANES], room1[LANES];
    const float* a = real(0, room0);
    const float* b = real(1, room1);
    u32 bits = 0, unordered = 0;
    for (int i = 0; i < LANES; ++i) {
        const bool is = std::isunordered(a[i], b[i]);
        unordered |= u32(is) << i;
        bits |= u32(!is && holds(mode & 7, a[i], b[i])) << i;
    }
    if (mode & 128) bits |= unordered;
    const u32 other = predicate(instruction.inputs[0]);
    write_predicate(0, combined(mode >> 3 & 3, bits, other));
    write_predicate(1, combined(mode >> 3 & 3, ~bits, other));
}

void Step::shift() {
    const u32 mode = instruction.mode;
    const bool right = mode & 1, high = mode & 2, is_signed = mode & 4, wide = mode & 8;
    const u32 most = wide ? 63 : 32;
    map([&](u32 a, u32 by, u32 c) -> u32 {
        by = mode & 16 ? by & (wide ? 63 : 31) : by > most ? most : by;
        if (wide) {
            const u64 value = u64(c) << 32 | a;
            const u64 shifted = !right ? value << by : is_signed ? u64(i64(value) >> by) : value >> by;
            return high ? shifted >> 32 : shifted;
        }
        const u32 value = high ? c : a;
        const u32 into = high ? a : c;
        if (!right) {
            if (!high) return by > 31 ? 0 : value << by;
            return static_cast<u32>((u64(value) << 32 | into) << by >> 32);
        }
        if (high && is_signed) return i32(value) >> (by > 31 ? 31 : by);
        if (high) return by > 31 ? 0 : value >> by;
        return static_cast<u32>((u64(into) << 32 | value) >> by);
    });
}

void Step::from_integer() {
    const u32 mode = instruction.mode, bits = mode >> 4;
    const bool is_signed = mode & 1;
    Row room, result;
    const u32* values = integer(0, room);
    for (int i = 0; i < LANES; ++i) {
        const u64 value = bits == 64 ? pair(0, i) : values[i];
        const u64 raised = value << (64 - bits);
        const long double exact = is_signed ? static_cast<long double>(i64(raised) >> (64 - bits))
                                            : static_cast<long double>(raised >> (64 - bits));
        result[i] = bits_of(rounded(exact, mode >> 1 & 3));
    }
    write(instruction.result, result);
}

void Step::to_integer() {
    const bool is_signed = instruction.mode & 1, wide = instruction.mode & 2;
    const float least = is_signed ? (wide ? -0x1p63f : -0x1p31f) : 0.0f;
    const float above = wide ? (is_signed ? 0x1p63f : 0x1p64f) : (is_signed ? 0x1p31f : 0x1p32f);
    const u64 most = (wide ? ~u64(0) : u64(ALL)) >> is_signed;
    float room[LANES];
    const float* a = real(0, room);
    Row low, high;
    for (int i = 0; i < LANES; ++i) {
        const float whole = std::trunc(a[i]);
        u64 kept;
        if (whole != whole) kept = 0;
        else if (whole >= above) kept = most;
        else if (whole <= least) kept = static_cast<u64>(static_cast<i64>(least));
        else kept = is_signed ? static_cast<u64>(static_cast<i64>(whole)) : static_cast<u64>(whole);
        low[i] = static_cast<u32>(kept);
        high[i] = kept >> 32;
    }
    write(instruction.result, low);
    if (wide && instruction.result >= 0) write(instruction.result + 1, high);
}

void Step::half() {
    const Operand& from = instruction.operands[1];
    const Row& values = row(from.row);
    Row result;
    for (int i = 0; i < LANES; ++i) {
        const u16 bits = values[i] >> (from.flags >> 8);
        _Float16 half;
        std::memcpy(&half, &bits, 2);
        float value = half;
        if (from.flags & ABSOLUTE_VALUE) value = std::fabs(value);
        result[i] = bits_of(from.flags & NEGATED ? -value : value);
    }
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
            case 3: case 18: value = block.multiprocessor; break;
            case 13: value = 1u << i; break;
            case 14: value = (1u << i) - 1; break;
            case 15: value = (2u << i) - 1; break;
            case 16: value = ~((2u << i) - 1); break;
            case 17: value = ~((1u << i) - 1); break;
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

void Step::reduce() {
    const Row& values = row(instruction.operands[0].row);
    const u32 how = instruction.mode & 15;
    const bool is_signed = instruction.mode & 16;
    bool first = true;
    u32 total = 0;
    for (int i = 0; i < LANES; ++i) {
        if (!(lanes >> i & 1)) continue;
        const u32 value = values[i];
        if (first) total = value;
        else if (how == 0) total += value;
        else if (how == 1) total = is_signed ? u32(std::min(i32(total), i32(value))) : std::min(total, value);
        else if (how == 2) total = is_signed ? u32(std::max(i32(total), i32(value))) : std::max(total, value);
        else total = how == 3 ? total & value : how == 4 ? total | value : total ^ value;
        first = false;
    }
    Row result;
    for (u32& each : result) each = total;
    write(instruction.result, result);
}

bool Step::arithmetic() {
    const Instruction& each = instruction;
    const u32 mode = each.mode;
    switch (each.operation) {
        case MOV: map([](u32 a, u32, u32) { return a; }); return true;
        case ADD3:
            if (!mode && each.outputs[0] % 8 == TRUE) map([](u32 a, u32 b, u32 c) { return a + b + c; });
            else add3();
            return true;
        case MAD:
            if (mode & 2) {
                Row room;
                const u32 carry = predicate(each.inputs[0]);
                const u32* addend = row(each.operands[2].row);
                for (int i = 0; i < LANES; ++i) {
                    u32 value = addend[i];
                    if (each.operands[2].flags) value = ~value;
                    room[i] = row(each.operands[0].row)[i] * row(each.operands[1].row)[i] + value +
                              (carry >> i & 1);
                }
                write(each.result, room);
            } else {
                map([](u32 a, u32 b, u32 c) { return a * b + c; });
            }
            return true;
        case MAD_WIDE:
        case MAD_HIGH: {
            Row room0, room1, low, high;
            const u32* a = integer(0, room0);
            const u32* b = integer(1, room1);
            u32 carries = 0;
            const u32 carry = mode & 2 ? predicate(each.inputs[0]) : 0;
            for (int i = 0; i < LANES; ++i) {
                const u64 product = mode & 1 ? u64(i64(i32(a[i])) * i32(b[i])) : u64(a[i]) * b[i];
                const u64 addend = pair(2, i);
                const u64 sum = product + addend + (carry >> i & 1);
                carries |= u32(sum < product) << i;
                low[i] = static_cast<u32>(sum);
                high[i] = sum >> 32;
            }
            if (each.operation == MAD_HIGH) write(each.result, high);
            else if (each.result >= 0) write(each.result, low), write(each.result + 1, high);
            write_predicate(0, carries);
            return true;
        }
        case ADD_MIN_MAX:
        case MIN_MAX: {
            const bool adds = each.operation == ADD_MIN_MAX;
            const u32 least = predicate(each.inputs[0]);
            Row room0, room1, room2, result;
            const u32* a = integer(0, room0);
            const u32* b = integer(1, room1);
            const u32* c = integer(2, room2);
            for (int i = 0; i < LANES; ++i) {
                const u32 x = adds ? a[i] + b[i] : a[i], y = adds ? c[i] : b[i];
                const bool less = mode ? i32(x) < i32(y) : x < y;
                result[i] = less == bool(least >> i & 1) ? x : y;
            }
            write(each.result, result);
            return true;
        }
        case MIN_MAX3: {
            const u32 least = predicate(each.inputs[0]);
            Row room0, room1, room2, result;
            const u32* a = integer(0, room0);
            const u32* b = integer(1, room1);
            const u32* c = integer(2, room2);
            for (int i = 0; i < LANES; ++i) {
                auto best = [&](u32 x, u32 y) {
                    const bool less = mode ? i32(x) < i32(y) : x < y;
                    return less == bool(least >> i & 1) ? x : y;
                };
                result[i] = best(best(a[i], b[i]), c[i]);
            }
            write(each.result, result);
            return true;
        }
        case LEA: {
            Row room, result;
            const u32* a = integer(0, room);
            u32 out = 0;
            for (int i = 0; i < LANES; ++i) {
                const u64 sum = u64(a[i] << each.offset) + term(1, i, false);
                result[i] = static_cast<u32>(sum);
                out |= u32(sum >> 32) << i;
            }
            write(each.result, result);
            write_predicate(0, out);
            return true;
        }
        case LEA_HIGH: lea_high(); return true;
        case LOGIC: logic(); return true;
        case PREDICATE_LOGIC: {
            const u32 a = predicate(each.inputs[0]), b = predicate(each.inputs[1]),
                      c = predicate(each.inputs[2]);
            write_predicate(0, look_up(mode & 0xff, a, b, c));
            write_predicate(1, look_up(mode >> 8, a, b, c));
            return true;
        }
        case COMPARE: compare(); return true;
        case SELECT: {
            const u32 chosen = predicate(each.inputs[0]);
            Row room0, room1, result;
            const u32* a = integer(0, room0);
            const u32* b = integer(1, room1);
            for (int i = 0; i < LANES; ++i) result[i] = chosen >> i & 1 ? a[i] : b[i];
            write(each.result, result);
            return true;
        }
        case SHIFT: shift(); return true;
        case PERMUTE: map(permute); return true;
        case ABSOLUTE: map([](u32 a, u32, u32) { return i32(a) < 0 ? -a : a; }); return true;
        case POPULATION: map([](u32 a, u32, u32) { return u32(__builtin_popcount(a)); }); return true;
        case LEADING: map([&](u32 a, u32, u32) { return leading(a, mode); }); return true;
        case REVERSE: map([](u32 a, u32, u32) { return reversed(a); }); return true;
        case BIT_MASK:
            map([](u32 at, u32 bits, u32) {
                const u64 ones = bits > 31 ? ~0u : (1u << bits) - 1;
                return at > 31 ? 0 : static_cast<u32>(ones << at);
            });
            return true;
        case SIGN_EXTEND:
            map([&](u32 a, u32 bits, u32) -> u32 {
                bits = mode & 2 ? bits & 31 : bits > 32 ? 32 : bits;
                if (!bits) return 0;
                return mode & 1 ? u32(i32(a << (32 - bits)) >> (32 - bits)) : a << (32 - bits) >> (32 - bits);
            });
            return true;
        case F_ADD: map_real([](float a, float b, float) { return a + b; }); return true;
        case F_MUL: map_real([](float a, float b, float) { return a * b; }); return true;
        case F_FMA: map_real([](float a, float b, float c) { return std::fma(a, b, c); }); return true;
        case F_MIN_MAX: {
            const u32 least = predicate(each.inputs[0]);
            float room0[LANES], room1[LANES], values[LANES];
            const float* a = real(0, room0);
            const float* b = real(1, room1);
            for (int i = 0; i < LANES; ++i) {
                values[i] = least >> i & 1 ? std::fmin(a[i], b[i]) : std::fmax(a[i], b[i]);
            }
            Row result;
            std::memcpy(result, values, sizeof result);
            write(each.result, result);
            return true;
        }
        case F_COMPARE: compare_reals(); return true;
        case F_CHECK: {  // whether a division needs the slow way
            float room0[LANES], room1[LANES];
            const float* a = real(0, room0);
            const float* b = real(1, room1);
            u32 bits = 0;
            for (int i = 0; i < LANES; ++i) {
                const float x = std::fabs(a[i]), y = std::fabs(b[i]);
                const bool plain = (x == 0 || (x > 0x1p-100f && x < 0x1p100f)) && y > 0x1p-100f && y < 0x1p100f;
                bits |= u32(!plain) << i;
            }
            write_predicate(0, bits);
            return true;
        }
        case F_FUNCTION: map_real([&](float a, float, float) { return function_of(mode, a); }); return true;
        case INT_TO_FLOAT: from_integer(); return true;
        case FLOAT_TO_INT: to_integer(); return true;
        case HALF_TO_FLOAT: half(); return true;
        case PACK_HALVES: {
            float room0[LANES], room1[LANES];
            const float* a = real(0, room0);
            const float* b = real(1, room1);
            Row result;
            for (int i = 0; i < LANES; ++i) {
                result[i] = mode ? to_brain_float(a[i]) << 16 | to_brain_float(b[i])
                                 : to_half(a[i]) << 16 | to_half(b[i]);
            }
            write(each.result, result);
            return true;
        }
        case PACK_PREDICATES: {
            const Row& others = row(each.operands[0].row);
            const Row& which = row(each.operands[1].row);
            Row result;
            for (int i = 0; i < LANES; ++i) {
                u32 bits = 0;
                for (int number = 0; number < TRUE; ++number) {
                    bits |= (warp.predicates[number] >> i & 1) << number;
                }
                result[i] = (others[i] & ~which[i]) | (bits << each.offset & which[i]);
            }
            write(each.result, result);
            return true;
        }
        case UNPACK_PREDICATES: {
            const Row& values = row(each.operands[0].row);
            const u32 which = row(each.operands[1].row)[0];
            for (int number = 0; number < TRUE; ++number) {
                if (!(which >> number & 1)) continue;
                for (int i = 0; i < LANES; ++i) {
                    if (!(mask >> i & 1)) continue;
                    const u32 bit = values[i] >> each.offset >> number & 1;
                    u32& to = warp.predicates[number];
                    to = (to & ~(1u << i)) | bit << i;
                }
            }
            return true;
        }
        case SPECIAL: special(); return true;
        case ZERO_WIDE: {
            const Row zeroes = {};
            for (int at = 0; at < each.count; ++at) {
                if (each.result >= 0) write(each.result + at, zeroes);
            }
            return true;
        }
        case TO_UNIFORM: {
            const Row& values = row(each.operands[0].row);
            Row result;
            for (u32& to : result) to = values[__builtin_ctz(lanes)];
            write(each.result, result);
            return true;
        }
        case SHUFFLE: shuffle(); return true;
        case VOTE: {
            const u32 votes = predicate(each.inputs[0]) & lanes;
            Row result;
            for (u32& to : result) to = votes;
            write(each.result, result);
            write_predicate(0, (mode == 0 ? votes == lanes : votes != 0) ? ALL : 0);
            return true;
        }
        case REDUCE: reduce(); return true;
        case MATCH: {
            const Row& values = row(each.operands[0].row);
            Row result;
            for (int i = 0; i < LANES; ++i) {
                result[i] = 0;
                for (int j = 0; j < LANES; ++j) {
                    result[i] |= u32(lanes >> j & 1 && values[i] == values[j]) << j;
                }
            }
            write(each.result, result);
            return true;
        }
    }
    return false;
}
