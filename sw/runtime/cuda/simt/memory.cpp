// Every load and store of a kernel comes here before it happens. The compiler inserts the calls:
// they are those of its thread sanitizer, whose own library is not linked.
#include "memory.h"

#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <vector>

#include "fiber.h"
#include "shadow.h"

extern "C" {
// What kernels declare as `extern __shared__`.
alignas(1024) unsigned char gnarl_shared_memory[gnarl::SHARED_BYTES];
}

namespace gnarl {

Shadow shadow;

namespace {

using Address = std::uintptr_t;

const char* const VERBS[] = {"reads", "writes", "updates"};
const char* const PAST[] = {"read", "wrote", "updated"};

std::vector<Region> regions;  // what kernels may touch, by address
std::vector<Region> statics;  // the parts of `regions` that are this library's own
Address bias;                 // of this library: where it was loaded, less where it was linked to
Region nowhere = {0, 0, 0, nullptr};

// An instruction mostly touches the array that it touched last.
constexpr u32 REMEMBERED = 1024;
const Region* remembered[REMEMBERED];

struct Copy {
    const void* from;
    u32 to, bytes, group;
};
std::vector<Copy> copies[MOST_THREADS];
u32 groups[MOST_THREADS];  // committed so far

u32 code_of(const void* return_address) {
    return static_cast<u32>(reinterpret_cast<Address>(return_address) - 1 - bias);
}

const Region* find(Address address) {
    auto above = std::upper_bound(
        regions.begin(), regions.end(), address,
        [](Address value, const Region& region) { return value < region.start; });
    if (above == regions.begin()) return nullptr;
    const Region& region = *--above;
    return address - region.start < region.bytes ? &region : nullptr;
}

bool holds(const Region& region, Address address, std::size_t size) {
    Address offset = address - region.start;
    return offset < region.bytes && size <= region.bytes - offset;
}

// The array that begins or ends nearest, if any is within 4 GiB.
const Region* nearest(Address address) {
    const Region* best = nullptr;
    Address least = Address(1) << 32;
    for (const Region& region : regions) {
        if (!region.name) continue;
        Address end = region.start + region.bytes;
        Address distance = address < region.start ? region.start - address
                           : address >= end       ? address - end
                                                  : 0;
        if (distance < least) {
            least = distance;
            best = &region;
        }
    }
    return best;
}

struct Text {
    char text[256];
};

Text position(Address address) {
    Text at;
    Address offset = address - reinterpret_cast<Address>(gnarl_shared_memory);
    const Region* region = nearest(address);
    if (offset < SHARED_BYTES)
        std::snprintf(at.text, sizeof at.text, "byte %zu of shared memory", std::size_t(offset));
    else if (region)
        std::snprintf(at.text, sizeof at.text, "byte %lld of %s",
                      static_cast<long long>(address - region->start), region->name);
    else
        std::snprintf(at.text, sizeof at.text, "address 0x%zx", std::size_t(address));
    return at;
}

// `reason` goes on after the place.
[[noreturn]] void fail_access(Access access, Address address, std::size_t size, u32 code,
                              const char* reason) {
    fail("block %u: thread %u %s %zu bytes at %s (@%x@), %s", machine.block_index,
         machine.current.index, VERBS[int(access)], size, position(address).text, code, reason);
}

[[noreturn]] void fail_misaligned(Access access, Address address, std::size_t size, u32 code) {
    Text reason;
    std::snprintf(reason.text, sizeof reason.text, "which is not aligned to %zu bytes", size);
    fail_access(access, address, size, code, reason.text);
}

[[noreturn]] void fail_outside(Access access, Address address, std::size_t size, u32 code) {
    Text reason = {"which is in no array of the launch"};
    if (const Region* region = nearest(address))
        std::snprintf(reason.text, sizeof reason.text, "which has %llu bytes",
                      static_cast<unsigned long long>(region->bytes));
    fail_access(access, address, size, code, reason.text);
}

[[noreturn]] void fail_race(Access access, Address address, std::size_t size, u32 code,
                            const Rival& rival) {
    Text place = {""}, reason;
    if (rival.pc) std::snprintf(place.text, sizeof place.text, " (@%x@)", rival.pc);
    std::snprintf(reason.text, sizeof reason.text, "which thread %u %s%s with no barrier between",
                  rival.thread, PAST[int(rival.access)], place.text);
    fail_access(access, address, size, code, reason.text);
}

template <Access access>
void touch_shared(Address address, std::size_t size, u32 code) {
    u32 offset = static_cast<u32>(address - reinterpret_cast<Address>(gnarl_shared_memory));
    if (offset + size > machine.shared_bytes) {
        Text reason;
        std::snprintf(reason.text, sizeof reason.text, "of which the launch has %u",
                      machine.shared_bytes);
        fail_access(access, address, size, code, reason.text);
    }
    const Current& current = machine.current;
    u32 stamp = shadow.clocks[current.warp].stamp(current.lane);
    Accessor self = {current.index, current.warp, current.lane, stamp, code};
    Rival rival;
    Shadow::Finding finding = shadow.visit<access>(offset, static_cast<u32>(size), self, rival);
    if (finding == Shadow::Finding::race) fail_race(access, address, size, code, rival);
    if (finding == Shadow::Finding::unwritten)
        fail_access(access, address, size, code, "not all of which was written in this block");
    if (access == Access::read) ++machine.count.shared_loads;
    if (access == Access::write) ++machine.count.shared_stores;
}

template <Access access>
void touch_global(Address address, std::size_t size, u32 code) {
    const Region*& known = remembered[code / 4 % REMEMBERED];
    if (__builtin_expect(!holds(*known, address, size), false)) {
        const Region* region = find(address);
        if (!region || !holds(*region, address, size)) fail_outside(access, address, size, code);
        known = region;
    }
    if (access != Access::read && !known->writable)
        fail_access(access, address, size, code, "which is read-only");
    if (access == Access::read) {
        ++machine.count.global_loads;
        machine.count.global_load_bytes += size;
    } else if (access == Access::write) {
        ++machine.count.global_stores;
        machine.count.global_store_bytes += size;
    }
}

// `alignment` is a power of two.
template <Access access>
inline __attribute__((always_inline)) void touch(const volatile void* pointer, std::size_t size,
                                                 std::size_t alignment, const void* caller) {
    Address address = reinterpret_cast<Address>(pointer);
    if (address - machine.current.stack < STACK_BYTES) return;
    u32 code = code_of(caller);
    if (__builtin_expect(address & (alignment - 1), false))
        fail_misaligned(access, address, size, code);
    if (address - reinterpret_cast<Address>(gnarl_shared_memory) < SHARED_BYTES)
        touch_shared<access>(address, size, code);
    else
        touch_global<access>(address, size, code);
}

int add_statics(dl_phdr_info* info, std::size_t, void*) {
    Address inside = reinterpret_cast<Address>(&machine);
    std::vector<Region> found;
    bool own = false;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& header = info->dlpi_phdr[i];
        if (header.p_type != PT_LOAD) continue;
        Region region = {info->dlpi_addr + header.p_vaddr, header.p_memsz,
                         (header.p_flags & PF_W) != 0, nullptr};
        own |= holds(region, inside, 1);
        found.push_back(region);
    }
    if (own) {
        bias = info->dlpi_addr;
        statics = found;
    }
    return own;
}

}  // namespace

void begin_launch_memory(const Region* arrays, std::size_t count) {
    if (statics.empty()) dl_iterate_phdr(add_statics, nullptr);
    regions.assign(arrays, arrays + count);
    regions.insert(regions.end(), statics.begin(), statics.end());
    std::sort(regions.begin(), regions.end(),
              [](const Region& a, const Region& b) { return a.start < b.start; });
    std::fill(std::begin(remembered), std::end(remembered), &nowhere);
}

void begin_thread_memory() {
    u32 index = machine.current.index;
    if (groups[index] || !copies[index].empty()) copies[index].clear();
    groups[index] = 0;
}

}  // namespace gnarl

using namespace gnarl;

#define CALLER __builtin_return_address(0)

extern "C" {

#define GNARL_ACCESS(size)                                                                      \
    void __tsan_read##size(void* p) { touch<Access::read>(p, size, size, CALLER); }             \
    void __tsan_write##size(void* p) { touch<Access::write>(p, size, size, CALLER); }           \
    void __tsan_unaligned_read##size(void* p) { touch<Access::read>(p, size, 1, CALLER); }      \
    void __tsan_unaligned_write##size(void* p) { touch<Access::write>(p, size, 1, CALLER); }

GNARL_ACCESS(1)
GNARL_ACCESS(2)
GNARL_ACCESS(4)
GNARL_ACCESS(8)
GNARL_ACCESS(16)

void __tsan_read_range(void* p, std::size_t size) {
    if (size) touch<Access::read>(p, size, 1, CALLER);
}

void __tsan_write_range(void* p, std::size_t size) {
    if (size) touch<Access::write>(p, size, 1, CALLER);
}

void __tsan_vptr_update(void** p, void*) { touch<Access::write>(p, sizeof *p, sizeof *p, CALLER); }
void __tsan_vptr_read(void** p) { touch<Access::read>(p, sizeof *p, sizeof *p, CALLER); }
void __tsan_init() {}

// A pointer to a type is used that has not the type's alignment; from the undefined-behaviour
// sanitizer, for types wider than the accesses that the compiler splits them into.
struct TypeName {
    u16 kind, info;
    char text[];  // in quotes
};
struct Mismatch {
    const char* file;
    u32 line, column;
    const TypeName* type;
    u8 log_alignment, kind;
};

[[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(Mismatch* mismatch, Address address) {
    fail("block %u: thread %u accesses %s at %s (%s:%u), which is not aligned to %u bytes",
         machine.block_index, machine.current.index, mismatch->type->text, position(address).text,
         mismatch->file, mismatch->line, 1u << mismatch->log_alignment);
}

void* gnarl_emulation_memcpy(void* to, const void* from, std::size_t size) {
    if (size) touch<Access::read>(from, size, 1, CALLER);
    if (size) touch<Access::write>(to, size, 1, CALLER);
    return std::memmove(to, from, size);
}

void* gnarl_emulation_memset(void* to, int value, std::size_t size) {
    if (size) touch<Access::write>(to, size, 1, CALLER);
    return std::memset(to, value, size);
}

void gnarl_emulation_copy_async(void* to, const void* from, int bytes) {
    Address offset = reinterpret_cast<Address>(to) - reinterpret_cast<Address>(gnarl_shared_memory);
    std::size_t size = static_cast<std::size_t>(bytes);
    u32 code = code_of(CALLER), index = machine.current.index;
    if (size != 4 && size != 8 && size != 16)
        fail("block %u: thread %u copies %d bytes asynchronously (@%x@), which is not 4, 8 or 16",
             machine.block_index, index, bytes, code);
    if (offset >= SHARED_BYTES)
        fail_access(Access::write, reinterpret_cast<Address>(to), size, code,
                    "an asynchronous copy to what is not shared memory");
    if (offset % size) fail_misaligned(Access::write, reinterpret_cast<Address>(to), size, code);
    touch<Access::read>(from, size, size, CALLER);
    copies[index].push_back({from, static_cast<u32>(offset), static_cast<u32>(size), groups[index]});
}

void gnarl_emulation_commit() { ++groups[machine.current.index]; }

void gnarl_emulation_wait(int pending) {
    u32 index = machine.current.index;
    std::vector<Copy>& waiting = copies[index];
    std::size_t done = 0;
    for (; done < waiting.size(); ++done) {
        const Copy& copy = waiting[done];
        if (copy.group + static_cast<u32>(pending) >= groups[index]) break;
        unsigned char* to = gnarl_shared_memory + copy.to;
        touch<Access::write>(to, copy.bytes, copy.bytes, CALLER);
        std::memcpy(to, copy.from, copy.bytes);
    }
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(done));
}

// A time that grows with the work done, and depends on nothing else.
u64 gnarl_emulation_globaltimer() {
    const Statistics& count = machine.count;
    return ++machine.timer_calls + count.global_loads + count.global_stores + count.shared_loads +
           count.shared_stores + count.atomics + count.barriers + count.warp_operations;
}

}  // extern "C"

namespace {

template <class T, class Change>
T update(T* pointer, const void* caller, Change change) {
    touch<Access::atomic>(pointer, sizeof(T), sizeof(T), caller);
    ++machine.count.atomics;
    T before = *pointer;
    *pointer = change(before);
    return before;
}

}  // namespace

#define GNARL_ATOMIC(name, T, after)                            \
    T name(T* address, T value) {                               \
        return update(address, CALLER, [=]([[maybe_unused]] T old) -> T { return after; }); \
    }
#define GNARL_ATOMICS(T)                                            \
    GNARL_ATOMIC(atomicAdd, T, static_cast<T>(static_cast<u64>(old) + static_cast<u64>(value))) \
    GNARL_ATOMIC(atomicMax, T, old > value ? old : value)           \
    GNARL_ATOMIC(atomicMin, T, old < value ? old : value)           \
    GNARL_ATOMIC(atomicExch, T, value)                              \
    GNARL_ATOMIC(atomicAnd, T, old & value)                         \
    GNARL_ATOMIC(atomicOr, T, old | value)                          \
    T atomicCAS(T* address, T expected, T value) {                  \
        return update(address, CALLER, [=](T old) { return old == expected ? value : old; }); \
    }

GNARL_ATOMICS(int)
GNARL_ATOMICS(unsigned int)
GNARL_ATOMICS(unsigned long long)
GNARL_ATOMIC(atomicSub, int, static_cast<int>(static_cast<u32>(old) - static_cast<u32>(value)))
GNARL_ATOMIC(atomicSub, unsigned int, old - value)
GNARL_ATOMIC(atomicInc, unsigned int, old >= value ? 0 : old + 1)
GNARL_ATOMIC(atomicAdd, float, old + value)
GNARL_ATOMIC(atomicExch, float, value)
