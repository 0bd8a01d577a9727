// Copies of many bytes, and copies into shared memory that happen while their thread goes on.
#include "copies.h"

#include <cstring>
#include <vector>

#include "memory.h"

namespace gnarl_emulation {

namespace {

struct Copy {
    const void* from;
    void* to;
    u32 offset, bytes;  // in shared memory
    u32 group;
};
std::vector<Copy> copies[MOST_THREADS];
u32 groups[MOST_THREADS];  // committed so far

}  // namespace

void begin_thread_copies() {
    u32 index = machine.current.index;
    if (!copies[index].empty()) copies[index].clear();
    groups[index] = 0;
}

extern "C" {

// Under the names by which Clang's thread sanitizer calls them.
void* __tsan_memmove(void* to, const void* from, std::size_t size) {
    if (size) access(Access::read, from, size, 1, CALLER);
    if (size) access(Access::write, to, size, 1, CALLER);
    return std::memmove(to, from, size);
}

void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
    if (size) access(Access::read, from, size, 1, CALLER);
    if (size) access(Access::write, to, size, 1, CALLER);
    return std::memcpy(to, from, size);
}

void* __tsan_memset(void* to, int value, std::size_t size) {
    if (size) access(Access::write, to, size, 1, CALLER);
    return std::memset(to, value, size);
}

void gnarl_emulation_copy_async(void* to, const void* from, int bytes) {
    u32 index = machine.current.index;
    if (bytes != 4 && bytes != 8 && bytes != 16)
        fail("block %u: thread %u copies %d bytes asynchronously (@%x@), which is not 4, 8 or 16",
             machine.block_index, index, bytes, code_of(CALLER));
    u32 size = static_cast<u32>(bytes);
    access(Access::read, from, size, size, CALLER);
    // The write happens at some time from now to the wait.
    u32 offset = shared_offset(to, size, CALLER);
    shadow.take_off(offset, size, index);
    copies[index].push_back({from, to, offset, size, groups[index]});
}

void gnarl_emulation_commit() { ++groups[machine.current.index]; }

void gnarl_emulation_wait(int pending) {
    u32 index = machine.current.index;
    std::vector<Copy>& waiting = copies[index];
    std::size_t done = 0;
    for (; done < waiting.size(); ++done) {
        const Copy& copy = waiting[done];
        if (copy.group + static_cast<u32>(pending) >= groups[index]) break;
        shadow.land(copy.offset, copy.bytes);
        access(Access::write, copy.to, copy.bytes, copy.bytes, CALLER);
        std::memcpy(copy.to, copy.from, copy.bytes);
    }
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // extern "C"

}  // namespace gnarl_emulation
