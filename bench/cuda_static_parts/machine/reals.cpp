// What instructions compute with floating-point numbers.
#include <cmath>

#include "comparison.h"
#include "machine.h"

namespace {

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

// Whether a division needs no more than the usual steps.
bool is_plain(float dividend, float divisor) {
    auto inside = [](float value) { return value > 0x1p-100f && value < 0x1p100f; };
    return (dividend == 0 || inside(std::fabs(dividend))) && inside(std::fabs(divisor));
}

}  // namespace

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

void Step::check_division() {
    float room0[LANES], room1[LANES];
    const float* a = real(0, room0);
    const float* b = real(1, room1);
    u32 bits = 0;
    for (int i = 0; i < LANES; ++i) bits |= u32(!is_plain(a[i], b[i])) << i;
    write_predicate(0, bits);
}

void Step::real_extreme() {
    const u32 least = predicate(instruction.inputs[0]);
    float room0[LANES], room1[LANES];
    const float* a = real(0, room0);
    const float* b = real(1, room1);
    Row result;
    for (int i = 0; i < LANES; ++i) {
        result[i] = bits_of(least >> i & 1 ? std::fmin(a[i], b[i]) : std::fmax(a[i], b[i]));
    }
    write(instruction.result, result);
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

void Step::pack_halves() {
    float room0[LANES], room1[LANES];
    const float* a = real(0, room0);
    const float* b = real(1, room1);
    auto* packed = instruction.mode ? to_brain_float : to_half;
    Row result;
    for (int i = 0; i < LANES; ++i) result[i] = packed(a[i]) << 16 | packed(b[i]);
    write(instruction.result, result);
}

bool Step::reals() {
    const u32 mode = instruction.mode;
    switch (instruction.operation) {
        case F_ADD: map_real([](float a, float b, float) { return a + b; }); return true;
        case F_MUL: map_real([](float a, float b, float) { return a * b; }); return true;
        case F_FMA:
            map_real([](float a, float b, float c) { return std::fma(a, b, c); });
            return true;
        case F_MIN_MAX: real_extreme(); return true;
        case F_COMPARE: compare_reals(); return true;
        case F_CHECK: check_division(); return true;
        case F_FUNCTION:
            map_real([=](float a, float, float) { return function_of(mode, a); });
            return true;
        case INT_TO_FLOAT: from_integer(); return true;
        case FLOAT_TO_INT: to_integer(); return true;
        case HALF_TO_FLOAT: half(); return true;
        case PACK_HALVES: pack_halves(); return true;
    }
    return false;
}
