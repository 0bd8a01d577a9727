// What a launch may touch, and the check of each access.
#pragma once

#include <cstddef>

#include "machine.h"
#include "shadow.h"

// Where a function that kernels call was called from, for messages.
#define CALLER __builtin_return_address(0)

namespace gnarl_emulation {

void begin_launch_memory(const Region* arrays, std::size_t count);

// The address of the instruction before `caller`, as the linker knew it: for `@...@` in messages.
u32 code_of(const void* caller);

// To be called before each access: checks, records and counts it, or ends the launch. `alignment`
// is a power of two.
void access(Access access, const volatile void* pointer, std::size_t size, std::size_t alignment,
            const void* caller);

// Checks and records a write to shared memory that is not to be counted; its offset there.
u32 shared_offset(const void* pointer, std::size_t size, const void* caller);

// To be called at each access by which a thread could wait for another's store.
void count_poll(const void* caller);

}  // namespace gnarl_emulation
