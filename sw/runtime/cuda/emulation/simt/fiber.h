// Stacks, and jumping from one to another: what lets a thread of a block wait.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

namespace gnarl_emulation {

// Saves the running stack's registers, stores where in `*save`, and goes on where `load` was saved.
extern "C" void gnarl_fiber_switch(void** save, void* load);

constexpr std::size_t STACK_BYTES = 128 << 10;  // of which only touched pages take memory
constexpr std::size_t GUARD_BYTES = 64 << 10;   // whole pages, whatever their size

// A pool of stacks, each with a guard below that faults. They stay mapped for the process's life.
class Stacks {
   public:
    // Lowest address of a stack that nobody uses.
    unsigned char* take() {
        if (free_count_) return free_[--free_count_];
        return slot(made_++);
    }

    void give(unsigned char* stack) { free_[free_count_++] = stack; }

    // All stacks are free again, whatever ran on them.
    void reset() {
        free_count_ = 0;
        made_ = 0;
    }

    bool is_guard(std::uintptr_t address) const {
        std::uintptr_t offset = address - reinterpret_cast<std::uintptr_t>(base_);
        return base_ && offset < COUNT * SLOT && offset % SLOT < GUARD_BYTES;
    }

   private:
    static constexpr std::size_t COUNT = 1024;
    static constexpr std::size_t SLOT = STACK_BYTES + GUARD_BYTES;

    unsigned char* slot(std::size_t index) {
        if (!base_) {
            void* mapped = mmap(nullptr, COUNT * SLOT, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (mapped == MAP_FAILED) std::abort();
            base_ = static_cast<unsigned char*>(mapped);
        }
        unsigned char* stack = base_ + index * SLOT + GUARD_BYTES;
        if (index >= opened_) {
            if (mprotect(stack, STACK_BYTES, PROT_READ | PROT_WRITE)) std::abort();
            opened_ = index + 1;
        }
        return stack;
    }

    unsigned char* base_ = nullptr;
    std::size_t made_ = 0, opened_ = 0, free_count_ = 0;
    unsigned char* free_[COUNT];
};

// What `gnarl_fiber_switch` loads to begin `entry`, which never returns, on `stack`. `colour`
// shifts the top by cache lines: stacks that all lie alike would share a few sets of the cache.
void* fresh_fiber(unsigned char* stack, unsigned colour, void (*entry)());

}  // namespace gnarl_emulation
