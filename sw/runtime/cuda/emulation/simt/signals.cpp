#include "signals.h"

#include "machine.h"

namespace gnarl_emulation {

const int Signals::NUMBERS[COUNT] = {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGTRAP};

namespace {

alignas(16) unsigned char handler_stack[64 << 10];

// Leaves by a jump to the launcher. The handler's stack and the signal stay usable: SA_NODEFER
// masks nothing, and the kernel tells by the stack pointer whether that stack is in use.
void handle(int number, siginfo_t* info, void*) {
    std::uintptr_t address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    if (number == SIGSEGV || number == SIGBUS) fail_stack_overflow(address);
    const char* what = number == SIGFPE    ? "divides an integer by zero, or overflows in doing so"
                       : number == SIGSEGV ? "accesses unmapped memory"
                       : number == SIGBUS  ? "accesses unmapped memory"
                                           : "reaches code that cannot be reached";
    fail("block %u: thread %u %s", machine.block_index, machine.current.index, what);
}

}  // namespace

Signals::Signals() {
    stack_t stack = {};
    stack.ss_sp = handler_stack;
    stack.ss_size = sizeof handler_stack;
    sigaltstack(&stack, &stack_before_);
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int i = 0; i < COUNT; ++i) sigaction(NUMBERS[i], &action, &before_[i]);
}

Signals::~Signals() {
    for (int i = 0; i < COUNT; ++i) sigaction(NUMBERS[i], &before_[i], nullptr);
    sigaltstack(&stack_before_, nullptr);
}

}  // namespace gnarl_emulation
