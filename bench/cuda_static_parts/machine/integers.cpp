// What instructions compute with integers and predicates.
#include "comparison.h"
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

u32 bit_mask(u32 first, u32 bits, u32) {
    const u32 ones = bits > 31 ? ALL : (1u << bits) - 1;
    return first > 31 ? 0 : ones << first;
}

u32 extended(u32 value, u32 bits, u32 mode) {
    bits = mode & 2 ? bits & 31 : bits > 32 ? 32 : bits;
    if (!bits) return 0;
    const u32 raised = value << (32 - bits);
    return mode & 1 ? u32(i32(raised) >> (32 - bits)) : raised >> (32 - bits);
}

}  // namespace

// An operand of a sum whose carry counts: -x is ~x + 1; a carry that comes in has the 1 in it.
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

void Step::multiply_add() {
    if (!(instruction.mode & 2)) {
        map([](u32 a, u32 b, u32 c) { return a * b + c; });
        return;
    }
    Row room0, room1, result;
    const u32* a = integer(0, room0);
    const u32* b = integer(1, room1);
    const u32 carry = predicate(instruction.inputs[0]);
    for (int i = 0; i < LANES; ++i) {
        result[i] = a[i] * b[i] + static_cast<u32>(term(2, i, true)) + (carry >> i & 1);
    }
    write(instruction.result, result);
}

// Into two registers, or the upper one.
void Step::multiply_add_wide() {
    const Instruction& each = instruction;
    Row room0, room1, low, high;
    const u32* a = integer(0, room0);
    const u32* b = integer(1, room1);
    const u32 carry = each.mode & 2 ? predicate(each.inputs[0]) : 0;
    u32 carries = 0;
    for (int i = 0; i < LANES; ++i) {
        const u64 product = each.mode & 1 ? u64(i64(i32(a[i])) * i32(b[i])) : u64(a[i]) * b[i];
        const u64 sum = product + pair(2, i) + (carry >> i & 1);
        carries |= u32(sum < product) << i;
        low[i] = static_cast<u32>(sum);
        high[i] = sum >> 32;
    }
    write_predicate(0, carries);
    if (each.result < 0) return;
    if (each.operation == MAD_WIDE) write(each.result, low);
    write(each.result + (each.operation == MAD_WIDE), high);
}

// The least or greatest, by a predicate, of two or three, of which the first may be a sum; then
// not less than zero, where that is asked for.
void Step::extreme() {
    const Instruction& each = instruction;
    const u32 least = predicate(each.inputs[0]);
    Row room0, room1, room2, result;
    const u32* a = integer(0, room0);
    const u32* b = integer(1, room1);
    const u32* c = integer(2, room2);
    for (int i = 0; i < LANES; ++i) {
        auto of = [&](u32 x, u32 y) {
            const bool less = each.mode & 1 ? i32(x) < i32(y) : x < y;
            return less == bool(least >> i & 1) ? x : y;
        };
        result[i] = each.operation == ADD_MIN_MAX ? of(a[i] + b[i], c[i])
                    : each.operation == MIN_MAX   ? of(a[i], b[i])
                                                  : of(of(a[i], b[i]), c[i]);
        if (each.mode & 2 && i32(result[i]) < 0) result[i] = 0;
    }
    write(each.result, result);
}

void Step::lea() {
    Row room, result;
    const u32* a = integer(0, room);
    u32 out = 0;
    for (int i = 0; i < LANES; ++i) {
        const u64 sum = u64(a[i] << instruction.offset) + term(1, i, false);
        result[i] = static_cast<u32>(sum);
        out |= u32(sum >> 32) << i;
    }
    write(instruction.result, result);
    write_predicate(0, out);
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

void Step::predicate_logic() {
    const Guard* from = instruction.inputs;
    const u32 a = predicate(from[0]), b = predicate(from[1]), c = predicate(from[2]);
    write_predicate(0, look_up(instruction.mode & 0xff, a, b, c));
    write_predicate(1, look_up(instruction.mode >> 8, a, b, c));
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

void Step::select() {
    const u32 chosen = predicate(instruction.inputs[0]);
    Row room0, room1, result;
    const u32* a = integer(0, room0);
    const u32* b = integer(1, room1);
    for (int i = 0; i < LANES; ++i) result[i] = chosen >> i & 1 ? a[i] : b[i];
    write(instruction.result, result);
}

void Step::shift() {
    const u32 mode = instruction.mode;
    const bool right = mode & 1, high = mode & 2, is_signed = mode & 4, wide = mode & 8;
    const u32 most = wide ? 63 : 32;
    map([&](u32 a, u32 by, u32 c) -> u32 {
        by = mode & 16 ? by & (wide ? 63 : 31) : by > most ? most : by;
        if (wide) {
            const u64 value = u64(c) << 32 | a;
            const u64 shifted = !right      ? value << by
                                : is_signed ? u64(i64(value) >> by)
                                            : value >> by;
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

void Step::pack_predicates() {
    const Row& others = row(instruction.operands[0].row);
    const Row& which = row(instruction.operands[1].row);
    Row result;
    for (int i = 0; i < LANES; ++i) {
        u32 bits = 0;
        for (int number = 0; number < TRUE; ++number) {
            bits |= (warp.predicates[number] >> i & 1) << number;
        }
        result[i] = (others[i] & ~which[i]) | (bits << instruction.offset & which[i]);
    }
    write(instruction.result, result);
}

void Step::unpack_predicates() {
    const Row& values = row(instruction.operands[0].row);
    const u32 which = row(instruction.operands[1].row)[0];
    for (int number = 0; number < TRUE; ++number) {
        if (!(which >> number & 1)) continue;
        u32 bits = 0;
        for (int i = 0; i < LANES; ++i) {
            bits |= (values[i] >> instruction.offset >> number & 1) << i;
        }
        u32& to = warp.predicates[number];
        to = (to & ~mask) | (bits & mask);
    }
}

bool Step::integers() {
    const u32 mode = instruction.mode;
    switch (instruction.operation) {
        case MOV: map([](u32 a, u32, u32) { return a; }); return true;
        case ADD3: add3(); return true;
        case ADD_PLAIN: map([](u32 a, u32 b, u32 c) { return a + b + c; }); return true;
        case MAD: multiply_add(); return true;
        case MAD_WIDE: multiply_add_wide(); return true;
        case MAD_HIGH: multiply_add_wide(); return true;
        case ADD_MIN_MAX: extreme(); return true;
        case MIN_MAX: extreme(); return true;
        case MIN_MAX3: extreme(); return true;
        case LEA: lea(); return true;
        case LEA_HIGH: lea_high(); return true;
        case LOGIC: logic(); return true;
        case PREDICATE_LOGIC: predicate_logic(); return true;
        case COMPARE: compare(); return true;
        case SELECT: select(); return true;
        case SHIFT: shift(); return true;
        case PERMUTE: map(permute); return true;
        case ABSOLUTE: map([](u32 a, u32, u32) { return i32(a) < 0 ? -a : a; }); return true;
        case POPULATION: map([](u32 a, u32, u32) { return __builtin_popcount(a); }); return true;
        case LEADING: map([=](u32 a, u32, u32) { return leading(a, mode); }); return true;
        case REVERSE: map([](u32 a, u32, u32) { return reversed(a); }); return true;
        case BIT_MASK: map(bit_mask); return true;
        case SIGN_EXTEND: map([=](u32 a, u32 b, u32) { return extended(a, b, mode); }); return true;
        case PACK_PREDICATES: pack_predicates(); return true;
        case UNPACK_PREDICATES: unpack_predicates(); return true;
    }
    return false;
}
