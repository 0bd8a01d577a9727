// Atomic operations, each whole since threads take turns only at barriers; and the clock.
#include "memory.h"

using namespace gnarl_emulation;

namespace {

template <class T, class Change>
T update(T* pointer, const void* caller, Change change) {
    access(Access::atomic, pointer, sizeof(T), sizeof(T), caller);
    count_poll(caller);
    ++machine.count.atomics;
    T before = *pointer;
    *pointer = change(before);
    return before;
}

}  // namespace

#define GNARL_ATOMIC(name, T, after)                                                        \
    T name(T* address, T value) {                                                           \
        return update(address, CALLER, [=]([[maybe_unused]] T old) -> T { return after; }); \
    }
#define GNARL_ATOMICS(T)                                                                        \
    GNARL_ATOMIC(atomicAdd, T, static_cast<T>(static_cast<u64>(old) + static_cast<u64>(value))) \
    GNARL_ATOMIC(atomicMax, T, old > value ? old : value)                                       \
    GNARL_ATOMIC(atomicMin, T, old < value ? old : value)                                       \
    GNARL_ATOMIC(atomicExch, T, value)                                                          \
    GNARL_ATOMIC(atomicAnd, T, old & value)                                                     \
    GNARL_ATOMIC(atomicOr, T, old | value)                                                      \
    T atomicCAS(T* address, T expected, T value) {                                              \
        return update(address, CALLER, [=](T old) { return old == expected ? value : old; });   \
    }

GNARL_ATOMICS(int)
GNARL_ATOMICS(unsigned int)
GNARL_ATOMICS(unsigned long long)
GNARL_ATOMIC(atomicSub, int, static_cast<int>(static_cast<u32>(old) - static_cast<u32>(value)))
GNARL_ATOMIC(atomicSub, unsigned int, old - value)
GNARL_ATOMIC(atomicInc, unsigned int, old >= value ? 0 : old + 1)
GNARL_ATOMIC(atomicAdd, float, old + value)
GNARL_ATOMIC(atomicExch, float, value)

extern "C" {

// A time that grows with the work done, and depends on nothing else.
u64 gnarl_emulation_globaltimer() {
    const Statistics& count = machine.count;
    return ++machine.timer_calls + count.global_loads + count.global_stores + count.shared_loads +
           count.shared_stores + count.atomics + count.barriers + count.warp_operations;
}

}  // extern "C"
