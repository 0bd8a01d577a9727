// A launch: memory, and what its instructions do.
#pragma once

#include <cstring>
#include <string>

#include "warp.h"

struct Launch {
    const Instruction* code;
    u32 instructions;
    const Row* pool;
    const u8* const* banks;  // of constants
    const u32* bank_bytes;
    std::vector<Region> regions;
    std::vector<const Region*> known;  // by instruction: the region that it touched last
    u32 block_threads, rows, uniform, multiprocessors;
    u32 shared_bytes;
    Statistics* statistics;
    const Mark* marks;
    Bursts* bursts;
    std::vector<Block> blocks;
};

struct Failure {
    std::string text;
};

[[noreturn]] void fail(u32 at, const char* what, u64 value = 0);

// One instruction of one strand.
struct Step {
    Launch& launch;
    Block& block;
    Warp& warp;
    const Instruction& instruction;
    u32 at;
    u32 lanes;  // of the strand
    u32 mask;   // of them, those whose guard holds; all for uniform instructions

    u32 predicate(const Guard& guard) const {
        u32 bits = warp.predicates[guard.predicate];
        return guard.negated ? ~bits : bits;
    }

    const Row& row(i32 number) const {
        return number >= 0 ? warp.registers[number] : launch.pool[-1 - number];
    }

    // The registers of an operand, or `room` with what its flags make of them.
    const u32* integer(int operand, Row& room) const {
        const Operand& from = instruction.operands[operand];
        const Row& values = row(from.row);
        if (!from.flags) return values;
        for (int i = 0; i < LANES; ++i) {
            u32 value = values[i] >> (from.flags >> 8);
            if (from.flags & INVERTED) value = ~value;
            if (from.flags & NEGATED) value = -value;
            room[i] = value;
        }
        return room;
    }

    const float* real(int operand, float (&room)[LANES]) const {
        const Operand& from = instruction.operands[operand];
        const Row& values = row(from.row);
        for (int i = 0; i < LANES; ++i) {
            u32 value = values[i];
            if (from.flags & ABSOLUTE_VALUE) value &= 0x7fffffffu;
            if (from.flags & NEGATED) value ^= 0x80000000u;
            std::memcpy(&room[i], &value, 4);
        }
        return room;
    }

    u64 pair(int operand, int lane) const {
        const Operand& from = instruction.operands[operand];
        u64 low = row(from.row)[lane];
        u64 high = row(from.row >= 0 ? from.row + 1 : from.row - 1)[lane];
        u64 value = high << 32 | low;
        if (from.row == -1) value = 0;
        if (from.flags & INVERTED) value = ~value;
        if (from.flags & NEGATED) value = -value;
        return value;
    }

    void write(i32 number, const u32* values) {
        if (number < 0) return;
        Row& to = warp.registers[number];
        if (mask == ALL) {
            std::memcpy(to, values, sizeof to);
            return;
        }
        for (int i = 0; i < LANES; ++i) {
            u32 keep = (mask >> i & 1) - 1;
            to[i] = (to[i] & keep) | (values[i] & ~keep);
        }
    }

    // The same to all lanes.
    void write_all(u32 value);

    void write_predicate(int output, u32 bits) {
        u8 number = instruction.outputs[output];
        if (number % 8 == TRUE) return;
        u32& to = warp.predicates[number];
        to = (to & ~mask) | (bits & mask);
    }

    template <class Function>
    void map(Function function) {
        Row room0, room1, room2, result;
        const u32* a = integer(0, room0);
        const u32* b = integer(1, room1);
        const u32* c = integer(2, room2);
        for (int i = 0; i < LANES; ++i) result[i] = function(a[i], b[i], c[i]);
        write(instruction.result, result);
    }

    template <class Function>
    void map_real(Function function) {
        float room0[LANES], room1[LANES], room2[LANES], values[LANES];
        const float* a = real(0, room0);
        const float* b = real(1, room1);
        const float* c = real(2, room2);
        for (int i = 0; i < LANES; ++i) values[i] = function(a[i], b[i], c[i]);
        Row result;
        std::memcpy(result, values, sizeof result);
        write(instruction.result, result);
    }

    // Each: whether the instruction is one of these; then it is done.
    bool integers();
    bool reals();
    bool of_lanes();
    bool memory();

   private:
    u64 term(int operand, int lane, bool carries) const;
    void add3();
    void multiply_add();
    void multiply_add_wide();
    void extreme();
    void lea();
    void lea_high();
    void logic();
    void predicate_logic();
    void compare();
    void select();
    void shift();
    void pack_predicates();
    void unpack_predicates();

    void compare_reals();
    void check_division();
    void real_extreme();
    void from_integer();
    void to_integer();
    void half();
    void pack_halves();

    void special();
    void shuffle();
    void vote();
    void reduce();
    void match();
    void clear();

    u64 address(int operand, int lane) const;
    u8* reach(u64 address, u32 size, int lane, bool writes);
    void load_constant();
    void load();
    void store();
    void atomic();
    void copy();
};
