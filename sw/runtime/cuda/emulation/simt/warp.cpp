// Operations of the lanes of a warp: shuffles, votes, matches, reductions and __syncwarp.
//
// An operation happens when every lane of its mask waits at it. Lanes that the block never had are
// taken as named by mistake that does no harm, as on a GPU; lanes that have exited are not.
#include "machine.h"
#include "shadow.h"

namespace gnarl_emulation {

namespace {

// The operation that lanes of a warp assemble for. Lanes that wait at another one meanwhile are
// found by looking at each.
struct Assembly {
    Wait wait;
    u32 mask, arrived;
};
Assembly assemblies[MOST_THREADS / WARP];

bool is_warp_operation(Wait wait) { return wait >= Wait::syncwarp; }

Thread& thread_of(u32 warp, u32 lane) { return machine.threads[warp * WARP + lane]; }

u32 waiting_alike(u32 warp, Wait wait, u32 mask, u32 named) {
    u32 alike = 0;
    for (u32 lanes = named; lanes; lanes &= lanes - 1) {
        u32 lane = __builtin_ctz(lanes);
        const Thread& thread = thread_of(warp, lane);
        if (thread.wait == wait && thread.mask == mask) alike |= 1u << lane;
    }
    return alike;
}

// Which lane's value a lane gets; its own where the shuffle leaves the segment of `width` lanes.
u32 source_of(const Thread& thread, u32 lane) {
    u32 first = lane & ~(thread.width - 1), last = first + thread.width - 1;
    u32 operand = thread.lane % WARP;
    switch (thread.wait) {
        case Wait::shfl:
            return first + operand % thread.width;
        case Wait::shfl_up:
            return lane >= first + operand ? lane - operand : lane;
        case Wait::shfl_down:
            return lane + operand <= last ? lane + operand : lane;
        default:  // earlier segments can be reached, later ones can't
            return (lane ^ operand) <= last ? lane ^ operand : lane;
    }
}

void shuffle(u32 warp, u32 named) {
    for (u32 lanes = named; lanes; lanes &= lanes - 1) {
        u32 lane = __builtin_ctz(lanes);
        Thread& thread = thread_of(warp, lane);
        u32 source = source_of(thread, lane);
        if (!(named >> source & 1))
            fail("block %u: thread %u reads lane %u by %s with mask 0x%08x (%s:%d), which lacks "
                 "that lane", machine.block_index, warp * WARP + lane, source,
                 name_of(thread.wait), named, thread.file, thread.line);
        thread.result = thread_of(warp, source).value;
    }
}

void match(u32 warp, u32 named) {
    for (u32 lanes = named; lanes; lanes &= lanes - 1) {
        Thread& thread = thread_of(warp, __builtin_ctz(lanes));
        thread.result = 0;
        for (u32 others = named; others; others &= others - 1) {
            u32 other = __builtin_ctz(others);
            if (thread_of(warp, other).value == thread.value) thread.result |= 1u << other;
        }
    }
}

u32 reduced(Wait wait, u32 a, u32 b) {
    switch (wait) {
        case Wait::reduce_add:
            return a + b;
        case Wait::reduce_min:
            return a < b ? a : b;
        case Wait::reduce_max:
            return a > b ? a : b;
        case Wait::reduce_min_signed:
            return static_cast<int>(a) < static_cast<int>(b) ? a : b;
        case Wait::reduce_max_signed:
            return static_cast<int>(a) > static_cast<int>(b) ? a : b;
        case Wait::reduce_and:
            return a & b;
        case Wait::reduce_or:
            return a | b;
        default:
            return a ^ b;
    }
}

u64 vote(Wait wait, u32 warp, u32 named) {
    u32 ballot = 0;
    for (u32 lanes = named; lanes; lanes &= lanes - 1) {
        u32 lane = __builtin_ctz(lanes);
        if (thread_of(warp, lane).value) ballot |= 1u << lane;
    }
    return wait == Wait::all ? ballot == named : wait == Wait::any ? ballot != 0 : ballot;
}

u64 reduction(Wait wait, u32 warp, u32 named) {
    u32 result = static_cast<u32>(thread_of(warp, __builtin_ctz(named)).value);
    for (u32 lanes = named & (named - 1); lanes; lanes &= lanes - 1) {
        u64 value = thread_of(warp, __builtin_ctz(lanes)).value;
        result = reduced(wait, result, static_cast<u32>(value));
    }
    return result;
}

void complete(Wait wait, u32 warp, u32 named) {
    ++machine.count.warp_operations;
    // Only __syncwarp orders memory: the other operations exchange registers, and promise no more.
    if (wait == Wait::syncwarp) {
        if (named == lanes_of(warp))
            shadow.clocks[warp].sync_warp();
        else
            shadow.clocks[warp].sync_lanes(named);
    } else if (wait <= Wait::shfl_xor) {
        shuffle(warp, named);
    } else if (wait == Wait::match_any) {
        match(warp, named);
    } else {
        u64 result = wait <= Wait::any ? vote(wait, warp, named) : reduction(wait, warp, named);
        for (u32 lanes = named; lanes; lanes &= lanes - 1)
            thread_of(warp, __builtin_ctz(lanes)).result = result;
    }
    u32 others = named & ~(1u << machine.current.lane);
    for (; others; others &= others - 1) ready(warp * WARP + __builtin_ctz(others));
    machine.threads[machine.current.index].wait = Wait::nothing;
}

// Whether the running lane's arrival completes its operation.
bool arrive(u32 warp, Wait wait, u32 mask, u32 named) {
    Assembly& assembly = assemblies[warp];
    if (assembly.arrived && assembly.wait == wait && assembly.mask == mask) {
        assembly.arrived |= 1u << machine.current.lane;
    } else if (assembly.arrived) {
        return waiting_alike(warp, wait, mask, named) == named;
    } else {
        assembly = {wait, mask, waiting_alike(warp, wait, mask, named)};
    }
    if (assembly.arrived != named) return false;
    assembly.arrived = 0;
    return true;
}

template <class Visit>
void for_each_named(u32 index, const Thread& thread, Visit visit) {
    u32 warp = index / WARP;
    for (u32 lanes = thread.mask & lanes_of(warp); lanes; lanes &= lanes - 1) {
        u32 other = warp * WARP + __builtin_ctz(lanes);
        visit(other, machine.threads[other]);
    }
}

}  // namespace

void begin_block_warps() {
    for (u32 warp = 0; warp * WARP < machine.block; ++warp) assemblies[warp].arrived = 0;
}

void diagnose_warps() {
    u32 block = machine.block_index;
    // Causes before their consequences: who waits for a lane that waits for an exited one is last.
    for (int pass = 0; pass < 3; ++pass) {
        for (u32 index = 0; index < machine.block; ++index) {
            const Thread& thread = machine.threads[index];
            if (!is_warp_operation(thread.wait)) continue;
            const char* name = name_of(thread.wait);
            for_each_named(index, thread, [&](u32 number, const Thread& other) {
                if (pass == 0 && other.exited)
                    fail("block %u: thread %u waits at %s (%s:%d) for thread %u, which has exited",
                         block, index, name, thread.file, thread.line, number);
                if (pass == 1 && other.wait != Wait::nothing && !is_warp_operation(other.wait))
                    fail("block %u: thread %u waits at %s (%s:%d) for thread %u, which waits at %s "
                         "(%s:%d)", block, index, name, thread.file, thread.line, number,
                         name_of(other.wait), other.file, other.line);
                if (pass == 2 && (other.wait != thread.wait || other.mask != thread.mask))
                    fail("block %u: thread %u waits at %s with mask 0x%08x (%s:%d) for thread %u, "
                         "which waits at %s with mask 0x%08x (%s:%d)", block, index, name,
                         thread.mask, thread.file, thread.line, number, name_of(other.wait),
                         other.mask, other.file, other.line);
            });
        }
    }
}

extern "C" u64 gnarl_emulation_warp(Wait wait, u32 mask, u64 value, u32 lane, u32 width,
                                    const char* file, int line) {
    const Current& current = machine.current;
    u32 block = machine.block_index, warp = current.warp;
    if (!(mask >> current.lane & 1))
        fail("block %u: thread %u calls %s with mask 0x%08x (%s:%d), which lacks its own lane %u",
             block, current.index, name_of(wait), mask, file, line, current.lane);
    if (!width || width > WARP || (width & (width - 1)))
        fail("block %u: thread %u calls %s with width %d (%s:%d), which is not 1, 2, 4, 8, 16 or "
             "32", block, current.index, name_of(wait), static_cast<int>(width), file, line);
    Thread& self = machine.threads[current.index];
    self.wait = wait;
    self.mask = mask;
    self.value = value;
    self.lane = lane;
    self.width = width;
    self.file = file;
    self.line = line;
    u32 named = mask & lanes_of(warp);
    if (arrive(warp, wait, mask, named))
        complete(wait, warp, named);
    else
        suspend();
    return self.result;
}

}  // namespace gnarl_emulation
