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
alignas(1024) unsigned char gnarl_shared_memory[gnarl_emulation::SHARED_BYTES];
}

namespace gnarl_emulation {

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

// Checks and records, but does not count.
template <Access access>
void visit_shared(Address address, std::size_t size, u32 code) {
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
    if (finding == Shadow::Finding::in_flight) {
        Text reason;
        std::snprintf(reason.text, sizeof reason.text,
                      "which thread %u copies to and has not waited for", rival.thread);
        fail_access(access, address, size, code, reason.text);
    }
}

template <Access access>
void touch_shared(Address address, std::size_t size, u32 code) {
    visit_shared<access>(address, size, code);
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

u32 code_of(const void* caller) {
    return static_cast<u32>(reinterpret_cast<Address>(caller) - 1 - bias);
}

void begin_launch_memory(const Region* arrays, std::size_t count) {
    if (statics.empty()) dl_iterate_phdr(add_statics, nullptr);
    regions.assign(arrays, arrays + count);
    regions.insert(regions.end(), statics.begin(), statics.end());
    std::sort(regions.begin(), regions.end(),
              [](const Region& a, const Region& b) { return a.start < b.start; });
    std::fill(std::begin(remembered), std::end(remembered), &nowhere);
}

void access(Access access, const volatile void* pointer, std::size_t size, std::size_t alignment,
            const void* caller) {
    if (access == Access::read)
        touch<Access::read>(pointer, size, alignment, caller);
    else if (access == Access::write)
        touch<Access::write>(pointer, size, alignment, caller);
    else
        touch<Access::atomic>(pointer, size, alignment, caller);
}

u32 shared_offset(const void* pointer, std::size_t size, const void* caller) {
    Address address = reinterpret_cast<Address>(pointer);
    Address offset = address - reinterpret_cast<Address>(gnarl_shared_memory);
    if (offset >= SHARED_BYTES)
        fail_access(Access::write, address, size, code_of(caller), "which is not shared memory");
    if (offset % size) fail_misaligned(Access::write, address, size, code_of(caller));
    visit_shared<Access::write>(address, size, code_of(caller));
    return static_cast<u32>(offset);
}

// Threads take turns only at barriers, so one that polls for another's store would do so for ever.
void count_poll(const void* caller) {
    if (++machine.polls > MOST_POLLS)
        fail("block %u: thread %u makes more than %u volatile or atomic accesses without waiting "
             "at a barrier (@%x@)", machine.block_index, machine.current.index, MOST_POLLS,
             code_of(caller));
}

}  // namespace gnarl_emulation

using namespace gnarl_emulation;

extern "C" {

#define GNARL_ACCESS(prefix, size, alignment)             \
    void __tsan_##prefix##read##size(void* p) {           \
        touch<Access::read>(p, size, alignment, CALLER);  \
    }                                                     \
    void __tsan_##prefix##write##size(void* p) {          \
        touch<Access::write>(p, size, alignment, CALLER); \
    }                                                     \
    void __tsan_##prefix##volatile_read##size(void* p) {  \
        count_poll(CALLER);                               \
        touch<Access::read>(p, size, alignment, CALLER);  \
    }                                                     \
    void __tsan_##prefix##volatile_write##size(void* p) { \
        touch<Access::write>(p, size, alignment, CALLER); \
    }
#define GNARL_ACCESSES(size)   \
    GNARL_ACCESS(, size, size) \
    GNARL_ACCESS(unaligned_, size, 1)

GNARL_ACCESSES(1)
GNARL_ACCESSES(2)
GNARL_ACCESSES(4)
GNARL_ACCESSES(8)
GNARL_ACCESSES(16)

void __tsan_read_range(void* p, std::size_t size) {
    if (size) touch<Access::read>(p, size, 1, CALLER);
}

void __tsan_write_range(void* p, std::size_t size) {
    if (size) touch<Access::write>(p, size, 1, CALLER);
}

void __tsan_vptr_update(void** p, void*) { touch<Access::write>(p, sizeof *p, sizeof *p, CALLER); }
void __tsan_vptr_read(void** p) { touch<Access::read>(p, sizeof *p, sizeof *p, CALLER); }
void __tsan_init() {}

// A pointer is used that has not its type's alignment; from the undefined-behaviour sanitizer, for
// types wider than the accesses that the compiler splits them into.
struct Mismatch {
    const char* file;
    u32 line, column;
    const void* type;
    u8 log_alignment, kind;
};

[[noreturn]] void __ubsan_handle_type_mismatch_v1_abort(Mismatch* mismatch, Address address) {
    fail("block %u: thread %u accesses %s (%s:%u), which is not aligned to %u bytes",
         machine.block_index, machine.current.index, position(address).text, mismatch->file,
         mismatch->line, 1u << mismatch->log_alignment);
}

}  // extern "C"
