// Runs a kernel: blocks one after another, the threads of a block as fibers that wait for each
// other at barriers. Which fiber runs next depends on nothing but the kernel: first those that
// became ready, in that order, then the first thread that has not started.
#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "copies.h"
#include "fiber.h"
#include "machine.h"
#include "memory.h"
#include "shadow.h"
#include "signals.h"
#include "vector_types.h"

// Constants to kernels, see simt.h.
uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace gnarl_emulation {

Machine machine;

namespace {

using Kernel = void(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64);

const char* const NAMES[] = {
    "nothing",           "__syncthreads",     "__syncthreads_count", "__syncthreads_and",
    "__syncthreads_or",  "__syncwarp",        "__shfl_sync",         "__shfl_up_sync",
    "__shfl_down_sync",  "__shfl_xor_sync",   "__ballot_sync",       "__all_sync",
    "__any_sync",        "__match_any_sync",  "__reduce_add_sync",   "__reduce_min_sync",
    "__reduce_max_sync", "__reduce_min_sync", "__reduce_max_sync",   "__reduce_and_sync",
    "__reduce_or_sync",  "__reduce_xor_sync",
};

Stacks stacks;
Kernel* kernel;
const u64* arguments;
void* launcher;  // where the launch goes on when a block is done or an error ends it
char* error;
std::size_t error_bytes;
bool failed;

u32 ready_queue[MOST_THREADS];  // a ring: a thread is in it at most once
u32 ready_first, ready_count;
u32 started, exited;

struct Barrier {
    u32 arrived, first;  // how many, and who of them first
    u64 count;           // of threads whose predicate holds
} barrier;

void make_current(u32 index) {
    machine.current.index = index;
    machine.current.warp = index / WARP;
    machine.current.lane = index % WARP;
    machine.current.stack = reinterpret_cast<std::uintptr_t>(machine.threads[index].stack);
    machine.polls = 0;
    threadIdx.x = index;
}

void begin(u32 index, unsigned char* stack) {
    Thread& thread = machine.threads[index];
    thread.stack = stack;
    make_current(index);
    begin_thread_copies();
}

u32 pop_ready() {
    u32 index = ready_queue[ready_first];
    ready_first = (ready_first + 1) % MOST_THREADS;
    --ready_count;
    return index;
}

[[noreturn]] void fail_stuck() {
    diagnose_warps();
    const Thread& waiting = machine.threads[barrier.first];
    for (u32 index = 0; index < machine.block; ++index)
        if (machine.threads[index].exited)
            fail("block %u: thread %u waits at %s (%s:%d) for thread %u, which has exited",
                 machine.block_index, barrier.first, name_of(waiting.wait), waiting.file,
                 waiting.line, index);
    __builtin_trap();  // every thread that waits, waits for a reason
}

// The life of a stack: one thread after another, as long as each runs to its end.
[[noreturn]] void run_threads() {
    for (;;) {
        const u64* a = arguments;
        kernel(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
               a[13], a[14], a[15]);
        Thread& thread = machine.threads[machine.current.index];
        thread.exited = true;
        ++exited;
        if (ready_count) {
            stacks.give(thread.stack);
            u32 next = pop_ready();
            make_current(next);
            gnarl_fiber_switch(&thread.context, machine.threads[next].context);
        } else if (started < machine.block) {
            begin(started++, thread.stack);
        } else if (exited == machine.block) {
            gnarl_fiber_switch(&thread.context, launcher);
        } else {
            fail_stuck();
        }
    }
}

void start_first_unstarted(void** save) {
    unsigned char* stack = stacks.take();
    u32 index = started++;
    begin(index, stack);
    gnarl_fiber_switch(save, fresh_fiber(stack, index, run_threads));
}

void run_block(u32 index) {
    machine.block_index = index;
    blockIdx = {index, 0, 0};
    started = exited = ready_first = ready_count = 0;
    barrier = {};
    for (u32 thread = 0; thread < machine.block; ++thread) {
        machine.threads[thread].wait = Wait::nothing;
        machine.threads[thread].exited = false;
    }
    stacks.reset();
    begin_block_warps();
    shadow.begin_block();
    start_first_unstarted(&launcher);
    ++machine.count.blocks;
}

void complete_barrier() {
    u32 self = machine.current.index;
    Wait wait = machine.threads[self].wait;
    u64 result = wait == Wait::syncthreads_and  ? barrier.count == machine.block
                 : wait == Wait::syncthreads_or ? barrier.count != 0
                                                : barrier.count;
    for (u32 index = 0; index < machine.block; ++index) {
        machine.threads[index].result = result;
        if (index != self) ready(index);
    }
    machine.threads[self].wait = Wait::nothing;
    barrier = {};
    ++machine.count.barriers;
    shadow.next_epoch();
}

}  // namespace

const char* name_of(Wait wait) { return NAMES[static_cast<int>(wait)]; }

void fail(const char* format, ...) {
    std::va_list values;
    va_start(values, format);
    std::vsnprintf(error, error_bytes, format, values);
    va_end(values);
    failed = true;
    void* abandoned;
    gnarl_fiber_switch(&abandoned, launcher);
    __builtin_unreachable();
}

void ready(u32 index) {
    machine.threads[index].wait = Wait::nothing;
    ready_queue[(ready_first + ready_count++) % MOST_THREADS] = index;
}

void suspend() {
    Thread& self = machine.threads[machine.current.index];
    if (ready_count) {
        u32 next = pop_ready();
        make_current(next);
        gnarl_fiber_switch(&self.context, machine.threads[next].context);
    } else if (started < machine.block) {
        start_first_unstarted(&self.context);
    } else {
        fail_stuck();
    }
}

bool fail_stack_overflow(std::uintptr_t address) {
    if (!stacks.is_guard(address)) return false;
    fail("block %u: thread %u needs a stack of more than %zu KiB", machine.block_index,
         machine.current.index, STACK_BYTES >> 10);
}

extern "C" u64 gnarl_emulation_barrier(Wait wait, bool predicate, const char* file, int line) {
    u32 index = machine.current.index;
    Thread& self = machine.threads[index];
    self.wait = wait;
    self.file = file;
    self.line = line;
    if (!barrier.arrived++) barrier.first = index;
    const Thread& first = machine.threads[barrier.first];
    if (first.wait != wait || first.line != line || first.file != file)
        fail("block %u: thread %u waits at %s (%s:%d), thread %u at %s (%s:%d)",
             machine.block_index, barrier.first, name_of(first.wait), first.file, first.line,
             index, name_of(wait), file, line);
    barrier.count += predicate;
    if (barrier.arrived == machine.block)
        complete_barrier();
    else
        suspend();
    return self.result;
}

extern "C" [[noreturn]] void gnarl_emulation_trap(const char* file, int line) {
    fail("block %u: thread %u executes __trap (%s:%d)", machine.block_index,
         machine.current.index, file, line);
}

// Returns whether the launch ended well; if not, `message` says why not. The caller keeps launches
// of one library apart.
extern "C" __attribute__((visibility("default"))) bool gnarl_emulation_launch(
    void* function, u32 grid, u32 block, const u64* slots, const Region* regions,
    std::size_t region_count, u32 shared_bytes, Statistics* statistics, char* message,
    std::size_t message_bytes) {
    kernel = reinterpret_cast<Kernel*>(function);
    arguments = slots;
    error = message;
    error_bytes = message_bytes;
    failed = false;
    machine.grid = grid;
    machine.block = block;
    machine.shared_bytes = shared_bytes;
    machine.count = {};
    machine.timer_calls = 0;
    gridDim = {grid, 1, 1};
    blockDim = {block, 1, 1};
    begin_launch_memory(regions, region_count);
    shadow.begin_launch();
    {
        Signals signals;
        for (u32 index = 0; index < grid && !failed; ++index) run_block(index);
    }
    machine.count.threads = machine.count.blocks * block;
    *statistics = machine.count;
    return !failed;
}

}  // namespace gnarl_emulation
