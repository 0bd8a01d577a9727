#pragma once

namespace gnarl_emulation {

// Forgets the asynchronous copies that the running thread's predecessor left.
void begin_thread_copies();

}  // namespace gnarl_emulation
