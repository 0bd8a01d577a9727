#include "strands.h"

namespace {

// Whether strands that wait are all of `wanted`; then they are joined.
template <class Waits>
bool join_if_all(Warp& warp, u32 wanted, Waits waits) {
    u32 there = 0;
    for (const Strand& each : warp.strands) {
        if (waits(each)) there |= each.mask;
    }
    if ((there & wanted) != wanted) return false;
    join(warp, waits);
    return true;
}

bool wake_one_convergence(Warp& warp) {
    for (const Strand& each : warp.strands) {
        if (each.state != Strand::at_convergence) continue;
        const Strand first = each;
        const u32* groups = warp.convergence[first.number];
        const u32 wanted = groups[__builtin_ctz(first.mask)] & warp.alive;
        const bool joined = join_if_all(warp, wanted, [=](const Strand& other) {
            return other.state == Strand::at_convergence && other.number == first.number &&
                   other.at == first.at && (other.mask & wanted) == other.mask;
        });
        if (joined) return true;
    }
    return false;
}

bool wake_one_sync(Warp& warp) {
    for (const Strand& each : warp.strands) {
        if (each.state != Strand::at_sync) continue;
        const u32 mask = each.wanted;
        const bool joined = join_if_all(warp, mask & warp.alive, [=](const Strand& other) {
            return other.state == Strand::at_sync && other.wanted == mask;
        });
        if (joined) return true;
    }
    return false;
}

}  // namespace

void wake_convergence(Warp& warp) {
    while (wake_one_convergence(warp)) {
    }
}

void wake_sync(Warp& warp) {
    while (wake_one_sync(warp)) {
    }
}
