#include "fiber.h"

#if defined(__x86_64__)

asm(R"(
    .text
    .globl gnarl_fiber_switch
    .hidden gnarl_fiber_switch
    .type gnarl_fiber_switch, @function
    .balign 16
gnarl_fiber_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    retq
    .size gnarl_fiber_switch, . - gnarl_fiber_switch
)");

#elif defined(__aarch64__)

asm(R"(
    .text
    .globl gnarl_fiber_switch
    .hidden gnarl_fiber_switch
    .type gnarl_fiber_switch, %function
    .balign 16
gnarl_fiber_switch:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size gnarl_fiber_switch, . - gnarl_fiber_switch
)");

#else

// The saved "stack pointer" is a context that lies on the stack it belongs to.
extern "C" void gnarl_fiber_switch(void** save, void* load) {
    ucontext_t here;
    *save = &here;
    swapcontext(&here, static_cast<ucontext_t*>(load));
}

#endif

namespace gnarl_emulation {

void* fresh_fiber(unsigned char* stack, unsigned colour, void (*entry)()) {
    unsigned char* top = stack + STACK_BYTES - 192 * (colour % 64);
#if defined(__x86_64__)
    // Six registers, the address to return to, and one word for the alignment of a called function.
    void** frame = reinterpret_cast<void**>(top) - 8;
    for (int i = 0; i < 8; ++i) frame[i] = nullptr;
    frame[6] = reinterpret_cast<void*>(entry);
    return frame;
#elif defined(__aarch64__)
    void** frame = reinterpret_cast<void**>(top) - 20;
    for (int i = 0; i < 20; ++i) frame[i] = nullptr;
    frame[11] = reinterpret_cast<void*>(entry);  // x30
    return frame;
#else
    ucontext_t* context = reinterpret_cast<ucontext_t*>(top) - 1;
    getcontext(context);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = reinterpret_cast<unsigned char*>(context) - stack;
    context->uc_link = nullptr;
    makecontext(context, entry, 0);
    return context;
#endif
}

}  // namespace gnarl_emulation
