// What a launch may touch, and the copies that are on their way into shared memory.
#pragma once

#include <cstddef>

#include "machine.h"

namespace gnarl {

void begin_launch_memory(const Region* regions, std::size_t count);
void begin_thread_memory();

}  // namespace gnarl
