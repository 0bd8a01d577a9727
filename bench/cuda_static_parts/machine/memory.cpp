// Loads, stores and atomic operations.
#include <algorithm>

#include "machine.h"

namespace {

enum Space : u32 { GLOBAL, SHARED, LOCAL };

u64 read(const u8* from, u32 size) {
    u64 value = 0;
    std::memcpy(&value, from, size > 8 ? 8 : size);
    return value;
}

template <class T>
u64 updated(u32 how, T old, T value, T other) {
    switch (how) {
        case 0: return old + value;
        case 1: return old < value ? old : value;
        case 2: return old > value ? old : value;
        case 3: return old & value;
        case 4: return old | value;
        case 5: return old ^ value;
        case 6: return old >= value ? 0 : old + 1;
        case 7: return value;
        default: return old == value ? other : old;
    }
}

u32 extended(u32 value, u32 size, bool is_signed) {
    if (!is_signed || size > 2) return value;
    return size == 1 ? u32(i32(std::int8_t(value))) : u32(i32(std::int16_t(value)));
}

}  // namespace

u64 Step::address(int operand, int lane) const {
    const bool wide = instruction.mode & 4;
    const Operand& uniform = instruction.operands[operand + 1];
    u64 base = wide ? pair(operand, lane) : row(instruction.operands[operand].row)[lane];
    if (uniform.row != -1) {
        base += (instruction.mode & 3) == GLOBAL ? pair(operand + 1, lane) : row(uniform.row)[lane];
    }
    return base;
}

u8* Step::reach(u64 address, u32 size, int lane, bool writes) {
    if (address % size) fail(at, "misaligned address", address);
    switch (instruction.mode & 3) {
        case SHARED:
            address -= RESERVED_SHARED;
            if (address + size > block.shared.size()) fail(at, "outside shared memory", address);
            return block.shared.data() + address;
        case LOCAL:
            if (address + size > LOCAL_BYTES) fail(at, "outside local memory", address);
            return warp.local + lane * LOCAL_BYTES + address;
    }
    const Region*& known = launch.known[at];
    if (!known || address - known->start >= known->bytes) {
        auto above = std::upper_bound(
            launch.regions.begin(), launch.regions.end(), address,
            [](u64 value, const Region& region) { return value < region.start; });
        if (above == launch.regions.begin()) fail(at, "outside the launch's arrays", address);
        known = &*--above;
    }
    if (address - known->start + size > known->bytes) {
        fail(at, "outside the launch's arrays", address);
    }
    if (writes && !known->writable) fail(at, "read-only memory", address);
    return reinterpret_cast<u8*>(address);
}

void Step::load_constant() {
    const u32 mode = instruction.mode, bank = mode & 0xff, size = mode >> 9;
    const Row& index = row(instruction.operands[0].row);
    Row result[4];
    for (int lane = 0; lane < LANES; ++lane) {
        if (!(mask >> lane & 1)) continue;
        const u32 place = index[lane] + instruction.offset;
        if (place + size > launch.bank_bytes[bank]) fail(at, "outside constant memory", place);
        for (u32 part = 0; part < std::max(size / 4, 1u); ++part) {
            const u32 value = read(launch.banks[bank] + place + 4 * part, std::min(size, 4u));
            result[part][lane] = extended(value, size, mode >> 8 & 1);
        }
    }
    for (int part = 0; part < instruction.count; ++part) {
        if (instruction.result >= 0) write(instruction.result + part, result[part]);
    }
}

void Step::load() {
    const u32 size = instruction.mode >> 4;
    Row result[4];
    for (int lane = 0; lane < LANES; ++lane) {
        if (!(mask >> lane & 1)) continue;
        const u8* from = reach(address(0, lane) + i64(instruction.offset), size, lane, false);
        u32 words[4] = {};
        std::memcpy(words, from, size);
        words[0] = extended(words[0], size, instruction.mode >> 3 & 1);
        for (int part = 0; part < instruction.count; ++part) result[part][lane] = words[part];
    }
    for (int part = 0; part < instruction.count; ++part) {
        if (instruction.result >= 0) write(instruction.result + part, result[part]);
    }
}

void Step::store() {
    const u32 size = instruction.mode >> 4;
    const i32 data = instruction.operands[2].row;
    for (int lane = 0; lane < LANES; ++lane) {
        if (!(mask >> lane & 1)) continue;
        u32 words[4];
        for (int part = 0; part < instruction.count; ++part) {
            words[part] = data == -1 ? 0 : row(data + (data < 0 ? -part : part))[lane];
        }
        const u64 to = address(0, lane) + i64(instruction.offset);
        std::memcpy(reach(to, size, lane, true), words, size);
    }
}

void Step::atomic() {
    const u32 size = instruction.mode >> 4 & 0xff, how = instruction.mode >> 12;
    const bool is_signed = instruction.mode & 8;
    Row result[2];
    for (int lane = 0; lane < LANES; ++lane) {
        if (!(mask >> lane & 1)) continue;
        u8* to = reach(address(0, lane) + i64(instruction.offset), size, lane, true);
        const u64 old = read(to, size);
        const u64 value = pair(2, lane), other = pair(3, lane);
        const u64 now = size == 8   ? (is_signed ? updated<i64>(how, old, value, other)
                                                 : updated<u64>(how, old, value, other))
                        : is_signed ? updated<i32>(how, old, value, other)
                                    : updated<u32>(how, old, value, other);
        std::memcpy(to, &now, size);
        result[0][lane] = static_cast<u32>(old);
        result[1][lane] = old >> 32;
    }
    for (int part = 0; part < instruction.count; ++part) {
        if (instruction.result >= 0) write(instruction.result + part, result[part]);
    }
}

void Step::copy() {
    const u32 size = instruction.mode >> 4;
    const u32 copied = predicate(instruction.inputs[0]);
    for (int lane = 0; lane < LANES; ++lane) {
        if (!(mask >> lane & 1)) continue;
        const u64 place = u64(row(instruction.operands[2].row)[lane]) +
                          row(instruction.operands[3].row)[lane] + instruction.target -
                          RESERVED_SHARED;
        if (place + size > block.shared.size()) fail(at, "outside shared memory", place);
        if (copied >> lane & 1) {
            const u64 source = pair(0, lane) + i64(instruction.offset);
            std::memcpy(block.shared.data() + place, reach(source, size, lane, false), size);
        } else {
            std::memset(block.shared.data() + place, 0, size);
        }
    }
}

bool Step::memory() {
    switch (instruction.operation) {
        case LOAD_CONSTANT: load_constant(); return true;
        case LOAD: load(); return true;
        case STORE: store(); return true;
        case ATOMIC: atomic(); return true;
        case COPY: copy(); return true;
    }
    return false;
}
