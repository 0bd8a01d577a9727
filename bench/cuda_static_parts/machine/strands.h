// Strands of a warp that wait for each other.
#pragma once

#include <algorithm>

#include "warp.h"

// Makes strands that wait, as `waits` says, ready again; those at one place go on as one.
template <class Waits>
void join(Warp& warp, Waits waits) {
    std::vector<Strand> others, joined;
    for (const Strand& each : warp.strands) {
        if (!waits(each)) {
            others.push_back(each);
            continue;
        }
        const auto same = std::find_if(joined.begin(), joined.end(),
                                       [&](const Strand& other) { return other.at == each.at; });
        if (same != joined.end()) {
            same->mask |= each.mask;
        } else {
            joined.push_back(each);
            joined.back().state = Strand::ready;
        }
    }
    others.insert(others.end(), joined.begin(), joined.end());
    warp.strands = others;
}

// Joins strands at convergence barriers where all that they wait for have come, or exited.
void wake_convergence(Warp& warp);

// The same at WARPSYNC.
void wake_sync(Warp& warp);
