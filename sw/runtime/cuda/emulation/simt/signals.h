// Faults of the processor, in the middle of a kernel, as errors of the launch.
#pragma once

#include <signal.h>
#include <cstdint>

namespace gnarl_emulation {

// While it lives, SIGFPE, SIGSEGV, SIGBUS, SIGILL and SIGTRAP end the launch, not the process.
class Signals {
   public:
    Signals();
    ~Signals();

   private:
    static constexpr int COUNT = 5;
    static const int NUMBERS[COUNT];
    struct sigaction before_[COUNT];
    stack_t stack_before_;
};

// Ends the launch if `address` lies below a thread's stack.
bool fail_stack_overflow(std::uintptr_t address);

}  // namespace gnarl_emulation
