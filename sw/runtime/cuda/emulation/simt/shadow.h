// Who wrote and read each byte of shared memory, and which accesses no barrier orders.
//
// Time is split into epochs: a barrier of the block orders all that came before it, so only what
// happened in the running epoch can race. Inside an epoch threads of two warps are never ordered.
// Lanes of a warp are, by __syncwarp: vector clocks say which access a lane knows of. As long as
// only whole warps synchronise, a warp's lanes share one clock, and an access is known to the other
// lanes if its stamp lies before that clock.
//
// Of the reads only those are kept that no later read is ordered after, and of the writes the last:
// what is ordered after the later access is ordered after the earlier one, too, or a race was
// reported between. Atomic accesses are kept like reads; they race with plain accesses but not with
// each other.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "machine.h"

namespace gnarl_emulation {

class Clocks {
   public:
    // At a barrier of the block. Stamps of older epochs mean nothing any more.
    void reset() {
        uniform_ = true;
        clock_ = 1;
    }

    // Every lane that exists has synchronised with every other.
    void sync_warp() {
        if (!uniform_) {
            for (u32 lane = 0; lane < WARP; ++lane)
                if (known_[lane][lane] > clock_) clock_ = known_[lane][lane];
            uniform_ = true;
        }
        ++clock_;
    }

    void sync_lanes(u32 mask) {
        if (uniform_) split();
        u32 joined[WARP] = {};
        for (u32 lanes = mask; lanes; lanes &= lanes - 1) {
            const u32* known = known_[__builtin_ctz(lanes)];
            for (u32 lane = 0; lane < WARP; ++lane)
                if (known[lane] > joined[lane]) joined[lane] = known[lane];
        }
        for (u32 lanes = mask; lanes; lanes &= lanes - 1) {
            u32 lane = __builtin_ctz(lanes);
            for (u32 other = 0; other < WARP; ++other) known_[lane][other] = joined[other];
            ++known_[lane][lane];
        }
    }

    // What an access of `lane` is stamped with now.
    u32 stamp(u32 lane) const { return uniform_ ? clock_ : known_[lane][lane]; }

    // Whether what `other` did at `stamp` comes before what `lane` does now.
    bool ordered(u32 lane, u32 other, u32 stamp) const {
        if (lane == other) return true;
        return uniform_ ? stamp < clock_ : stamp <= known_[lane][other];
    }

   private:
    void split() {
        for (auto& known : known_)
            for (u32& clock : known) clock = clock_ - 1;
        for (u32 lane = 0; lane < WARP; ++lane) known_[lane][lane] = clock_;
        uniform_ = false;
    }

    bool uniform_ = true;
    u32 clock_ = 1;
    u32 known_[WARP][WARP];
};

// The running thread, as the shadow sees it.
struct Accessor {
    u32 thread, warp, lane, stamp, pc;
};

// Accesses of one kind in one epoch, none of which is ordered before another.
struct Group {
    enum Shape : u8 {
        one_stamp,      // lanes `mask` of `warp`, all at stamp `clock`
        many_stamps,    // lanes `mask` of `warp`, at the stamps of side table `clock`
        several_warps,  // lanes `mask` of `warp`, and thread `clock` of another warp
    };
    u32 epoch, clock, mask, pc;
    u8 warp, lane;  // `lane` is the one that `pc` belongs to
    Shape shape;
};

struct Cell {
    u32 write_epoch, write_stamp, write_pc, write_thread;
    u32 atomic_epoch;
    u32 split_epoch;                  // of words only, as the next two
    u32 flight_epoch, flight_thread;  // an asynchronous copy that nobody has waited for
    Group reads;
};

enum class Access : u8 { read, write, atomic };

// The other access of a race; `pc` is 0 where it was not kept.
struct Rival {
    Access access;
    u32 thread, pc;
};

class Shadow {
   public:
    // Epochs count on from launch to launch, so that what older ones left needs no clearing.
    void begin_launch() {
        if (epoch_ < 1u << 31) return;
        epoch_ = 0;
        std::memset(words_, 0, sizeof words_);
        std::memset(bytes_, 0, sizeof bytes_);
        std::memset(word_atomics_, 0, sizeof word_atomics_);
        std::memset(byte_atomics_, 0, sizeof byte_atomics_);
    }

    // Everything becomes unwritten.
    void begin_block() {
        next_epoch();
        block_epoch_ = epoch_;
    }

    void next_epoch() {
        ++epoch_;
        stamps_.clear();
        for (u32 warp = 0; warp * WARP < machine.block; ++warp) clocks[warp].reset();
    }

    enum class Finding { fine, unwritten, race, in_flight };

    // An asynchronous copy of whole words begins: whoever touches them before it ends is wrong.
    void take_off(u32 offset, u32 size, u32 thread) {
        for (u32 word = offset / 4; word < (offset + size) / 4; ++word) {
            words_[word].flight_epoch = block_epoch_;
            words_[word].flight_thread = thread;
        }
    }

    void land(u32 offset, u32 size) {
        for (u32 word = offset / 4; word < (offset + size) / 4; ++word)
            words_[word].flight_epoch = 0;
    }

    // Records an access of `size` bytes at `offset`. `rival` says whose access or copy is in its
    // way.
    template <Access access>
    Finding visit(u32 offset, u32 size, const Accessor& self, Rival& rival) {
        u32 end = offset + size;
        while (offset < end) {
            u32 word = offset / 4;
            if (words_[word].flight_epoch == block_epoch_) {
                rival.thread = words_[word].flight_thread;
                return Finding::in_flight;
            }
            bool whole = offset % 4 == 0 && end - offset >= 4;
            Finding finding;
            if (!whole && !is_split(word)) split(word);
            if (is_split(word)) {
                finding = one<access>(bytes_[offset], byte_atomics_[offset], self, rival);
                offset += 1;
            } else {
                finding = one<access>(words_[word], word_atomics_[word], self, rival);
                offset += 4;
            }
            if (finding != Finding::fine) return finding;
        }
        return Finding::fine;
    }

    Clocks clocks[MOST_THREADS / WARP];

   private:
    bool is_split(u32 word) const { return words_[word].split_epoch == block_epoch_; }

    void split(u32 word) {
        for (u32 byte = 4 * word; byte < 4 * word + 4; ++byte) {
            bytes_[byte] = words_[word];
            byte_atomics_[byte] = word_atomics_[word];
            own_stamps(bytes_[byte].reads);
        }
        words_[word].split_epoch = block_epoch_;
    }

    // Copies of a group must not share the entry of the side table that they go on to change. Those
    // of atomics may: an atomic access changes all four alike.
    void own_stamps(Group& group) {
        if (group.epoch != epoch_ || group.shape != Group::many_stamps) return;
        std::array<u32, WARP> stamps = stamps_[group.clock];
        stamps_.push_back(stamps);
        group.clock = static_cast<u32>(stamps_.size() - 1);
    }

    template <Access access>
    Finding one(Cell& cell, Group& atomics, const Accessor& self, Rival& rival) {
        if (access != Access::write && cell.write_epoch < block_epoch_) return Finding::unwritten;
        if (cell.write_epoch == epoch_ && !ordered(cell.write_thread, cell.write_stamp, self)) {
            rival = {Access::write, cell.write_thread, cell.write_pc};
            return Finding::race;
        }
        if (access != Access::atomic && cell.atomic_epoch == epoch_ &&
            unordered(atomics, self, rival)) {
            rival.access = Access::atomic;
            return Finding::race;
        }
        if (access != Access::read && unordered(cell.reads, self, rival)) {
            rival.access = Access::read;
            return Finding::race;
        }
        if (access == Access::read) {
            add(cell.reads, self);
        } else if (access == Access::atomic) {
            add(atomics, self);
            cell.atomic_epoch = epoch_;
        } else {
            cell.write_epoch = epoch_;
            cell.write_stamp = self.stamp;
            cell.write_pc = self.pc;
            cell.write_thread = self.thread;
        }
        return Finding::fine;
    }

    bool ordered(u32 thread, u32 stamp, const Accessor& self) const {
        return thread / WARP == self.warp &&
               clocks[self.warp].ordered(self.lane, thread % WARP, stamp);
    }

    u32 stamp_of(const Group& group, u32 lane) const {
        return group.shape == Group::many_stamps ? stamps_[group.clock][lane] : group.clock;
    }

    // Whether some access of the group is not ordered before `self`.
    bool unordered(const Group& group, const Accessor& self, Rival& rival) const {
        if (group.epoch != epoch_) return false;
        if (group.warp == self.warp) {
            if (group.shape == Group::several_warps) {
                rival.thread = group.clock;
                rival.pc = 0;
                return true;
            }
            u32 racing = 0;
            for (u32 mask = group.mask & ~(1u << self.lane); mask; mask &= mask - 1) {
                u32 lane = __builtin_ctz(mask);
                if (!clocks[self.warp].ordered(self.lane, lane, stamp_of(group, lane)))
                    racing |= 1u << lane;
            }
            return racing && name_rival(group, racing, rival);
        }
        return name_rival(group, group.mask, rival);
    }

    static bool name_rival(const Group& group, u32 mask, Rival& rival) {
        bool known = mask >> group.lane & 1;
        rival.thread = group.warp * WARP + (known ? group.lane : __builtin_ctz(mask));
        rival.pc = known ? group.pc : 0;
        return true;
    }

    void add(Group& group, const Accessor& self) {
        u32 bit = 1u << self.lane;
        u8 warp = static_cast<u8>(self.warp), lane = static_cast<u8>(self.lane);
        if (group.epoch == epoch_) {
            if (group.shape == Group::several_warps) return;
            if (group.warp != self.warp) {
                group.shape = Group::several_warps;
                group.clock = self.thread;
                return;
            }
            if (group.shape == Group::one_stamp && group.clock == self.stamp) {
                group.mask |= bit;
                group.lane = lane;
                group.pc = self.pc;
                return;
            }
            Rival rival;
            if (unordered(group, self, rival)) {
                add_stamp(group, self);
                return;
            }
        }
        group = {epoch_, self.stamp, bit, self.pc, warp, lane, Group::one_stamp};
    }

    void add_stamp(Group& group, const Accessor& self) {
        if (group.shape == Group::one_stamp) {
            std::array<u32, WARP> stamps;
            stamps.fill(group.clock);
            stamps_.push_back(stamps);
            group.clock = static_cast<u32>(stamps_.size() - 1);
            group.shape = Group::many_stamps;
        }
        stamps_[group.clock][self.lane] = self.stamp;
        group.mask |= 1u << self.lane;
        group.lane = static_cast<u8>(self.lane);
        group.pc = self.pc;
    }

    u32 epoch_ = 0, block_epoch_ = 0;
    std::vector<std::array<u32, WARP>> stamps_;
    // A word's cell stands for its four bytes until one of them is accessed alone.
    Cell words_[SHARED_BYTES / 4];
    Cell bytes_[SHARED_BYTES];
    Group word_atomics_[SHARED_BYTES / 4];
    Group byte_atomics_[SHARED_BYTES];
};

extern Shadow shadow;

}  // namespace gnarl_emulation
