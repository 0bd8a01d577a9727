// The language of CUDA kernels for a host compiler: what NVRTC knows without any header.
//
// It is included before the kernels by an option of the compiler. Meaning: CUDA C++ Programming
// Guide. Beyond it: a lane may not name a lane that has exited, nor shuffle from one that its mask
// lacks; __activemask gives the calling lane alone, which is among the answers a GPU may give;
// functions gnarl_emulation_* stand for what a GPU does by inline assembly.
#pragma once

#define GNARL_EMULATION 1

#include <stddef.h>
#include <stdint.h>

#include "vector_types.h"
#include "wait.h"

#define __global__
#define __device__
#define __host__
#define __constant__
// Legal where the source says `extern`. On an array of its own inside a function, which would be
// each thread's, it is an error.
#define __shared__ __attribute__((weak))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

// All of a type without constructor: only then does the compiler take a constant defined elsewhere
// for one, and read it unchecked. They are constant for as long as a thread runs.
extern const uint3 threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;

// Where a call stands in the kernels' source.
#define GNARL_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define GNARL_INLINE static inline __attribute__((always_inline))

#include "math_functions.h"

extern "C" {
unsigned long long gnarl_emulation_barrier(gnarl_emulation::Wait wait, bool predicate,
                                           const char* file, int line);
unsigned long long gnarl_emulation_warp(gnarl_emulation::Wait wait, unsigned mask,
                                        unsigned long long value, unsigned lane, unsigned width,
                                        const char* file, int line);
[[noreturn]] void gnarl_emulation_trap(const char* file, int line);
void gnarl_emulation_copy_async(void* shared, const void* global, int bytes);
void gnarl_emulation_commit();
void gnarl_emulation_wait(int pending_groups);
unsigned long long gnarl_emulation_globaltimer();
void* __tsan_memcpy(void* to, const void* from, size_t size);
void* __tsan_memmove(void* to, const void* from, size_t size);
void* __tsan_memset(void* to, int value, size_t size);
}

// Compilers expand small copies themselves, past the checks.
#define memcpy __tsan_memcpy
#define memmove __tsan_memmove
#define memset __tsan_memset

// Barriers of the block.

#define GNARL_BARRIER(wait, predicate) \
    gnarl_emulation_barrier(gnarl_emulation::Wait::wait, predicate, file, line)

GNARL_INLINE void __syncthreads(GNARL_PLACE) { GNARL_BARRIER(syncthreads, false); }
GNARL_INLINE int __syncthreads_count(int predicate, GNARL_PLACE) {
    return static_cast<int>(GNARL_BARRIER(syncthreads_count, predicate));
}
GNARL_INLINE int __syncthreads_and(int predicate, GNARL_PLACE) {
    return static_cast<int>(GNARL_BARRIER(syncthreads_and, predicate));
}
GNARL_INLINE int __syncthreads_or(int predicate, GNARL_PLACE) {
    return static_cast<int>(GNARL_BARRIER(syncthreads_or, predicate));
}
#undef GNARL_BARRIER
GNARL_INLINE void __threadfence_block() { __asm__ volatile("" ::: "memory"); }
GNARL_INLINE void __threadfence() { __asm__ volatile("" ::: "memory"); }

// Operations of a warp.

#define GNARL_WARP(wait, value, lane, width) \
    gnarl_emulation_warp(gnarl_emulation::Wait::wait, mask, value, lane, width, file, line)

GNARL_INLINE void __syncwarp(unsigned mask = 0xffffffffu, GNARL_PLACE) {
    GNARL_WARP(syncwarp, 0, 0, 32);
}

template <class To, class From>
GNARL_INLINE To gnarl_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits of two types of one size");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

#define GNARL_SHUFFLE(name, wait, T, Bits, Lane)                                          \
    GNARL_INLINE T name(unsigned mask, T value, Lane lane, int width = 32, GNARL_PLACE) { \
        unsigned long long bits = gnarl_bits<Bits>(value);                                \
        return gnarl_bits<T>(static_cast<Bits>(GNARL_WARP(wait, bits, lane, width)));     \
    }
#define GNARL_SHUFFLES(T, Bits)                                   \
    GNARL_SHUFFLE(__shfl_sync, shfl, T, Bits, int)                \
    GNARL_SHUFFLE(__shfl_up_sync, shfl_up, T, Bits, unsigned)     \
    GNARL_SHUFFLE(__shfl_down_sync, shfl_down, T, Bits, unsigned) \
    GNARL_SHUFFLE(__shfl_xor_sync, shfl_xor, T, Bits, int)
GNARL_SHUFFLES(int, unsigned)
GNARL_SHUFFLES(unsigned, unsigned)
GNARL_SHUFFLES(long, unsigned long)
GNARL_SHUFFLES(unsigned long, unsigned long)
GNARL_SHUFFLES(long long, unsigned long long)
GNARL_SHUFFLES(unsigned long long, unsigned long long)
GNARL_SHUFFLES(float, unsigned)
GNARL_SHUFFLES(double, unsigned long long)
#undef GNARL_SHUFFLES
#undef GNARL_SHUFFLE

GNARL_INLINE unsigned __ballot_sync(unsigned mask, int predicate, GNARL_PLACE) {
    return static_cast<unsigned>(GNARL_WARP(ballot, predicate != 0, 0, 32));
}
GNARL_INLINE int __all_sync(unsigned mask, int predicate, GNARL_PLACE) {
    return static_cast<int>(GNARL_WARP(all, predicate != 0, 0, 32));
}
GNARL_INLINE int __any_sync(unsigned mask, int predicate, GNARL_PLACE) {
    return static_cast<int>(GNARL_WARP(any, predicate != 0, 0, 32));
}
GNARL_INLINE unsigned __activemask() { return 1u << (threadIdx.x % 32); }

#define GNARL_MATCH(T, Bits)                                                                 \
    GNARL_INLINE unsigned __match_any_sync(unsigned mask, T value, GNARL_PLACE) {            \
        return static_cast<unsigned>(GNARL_WARP(match_any, gnarl_bits<Bits>(value), 0, 32)); \
    }
GNARL_MATCH(int, unsigned)
GNARL_MATCH(unsigned, unsigned)
GNARL_MATCH(long, unsigned long)
GNARL_MATCH(unsigned long, unsigned long)
GNARL_MATCH(long long, unsigned long long)
GNARL_MATCH(unsigned long long, unsigned long long)
GNARL_MATCH(float, unsigned)
GNARL_MATCH(double, unsigned long long)
#undef GNARL_MATCH

#define GNARL_REDUCE(name, wait, T)                                                   \
    GNARL_INLINE T name(unsigned mask, T value, GNARL_PLACE) {                        \
        return static_cast<T>(GNARL_WARP(wait, static_cast<unsigned>(value), 0, 32)); \
    }
GNARL_REDUCE(__reduce_add_sync, reduce_add, unsigned)
GNARL_REDUCE(__reduce_add_sync, reduce_add, int)
GNARL_REDUCE(__reduce_min_sync, reduce_min, unsigned)
GNARL_REDUCE(__reduce_max_sync, reduce_max, unsigned)
GNARL_REDUCE(__reduce_min_sync, reduce_min_signed, int)
GNARL_REDUCE(__reduce_max_sync, reduce_max_signed, int)
GNARL_REDUCE(__reduce_and_sync, reduce_and, unsigned)
GNARL_REDUCE(__reduce_or_sync, reduce_or, unsigned)
GNARL_REDUCE(__reduce_xor_sync, reduce_xor, unsigned)
#undef GNARL_REDUCE
#undef GNARL_WARP

// Memory. The hints of cached loads and stores change nothing.

#define GNARL_ATOMICS(T)               \
    T atomicAdd(T* address, T value);  \
    T atomicMax(T* address, T value);  \
    T atomicMin(T* address, T value);  \
    T atomicExch(T* address, T value); \
    T atomicAnd(T* address, T value);  \
    T atomicOr(T* address, T value);   \
    T atomicCAS(T* address, T expected, T value);
GNARL_ATOMICS(int)
GNARL_ATOMICS(unsigned int)
GNARL_ATOMICS(unsigned long long)
#undef GNARL_ATOMICS
int atomicSub(int* address, int value);
unsigned int atomicSub(unsigned int* address, unsigned int value);
unsigned int atomicInc(unsigned int* address, unsigned int limit);
float atomicAdd(float* address, float value);
float atomicExch(float* address, float value);

#define GNARL_LOAD(name)                    \
    template <class T>                      \
    GNARL_INLINE T name(const T* address) { \
        return *address;                    \
    }
GNARL_LOAD(__ldg)
GNARL_LOAD(__ldca)
GNARL_LOAD(__ldcg)
GNARL_LOAD(__ldcs)
#undef GNARL_LOAD

#define GNARL_STORE(name)                         \
    template <class T>                            \
    GNARL_INLINE void name(T* address, T value) { \
        *address = value;                         \
    }
GNARL_STORE(__stcs)
GNARL_STORE(__stcg)
#undef GNARL_STORE

// Arithmetic.

GNARL_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
GNARL_INLINE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
GNARL_INLINE int __ffs(int x) { return __builtin_ffs(x); }
GNARL_INLINE int __ffsll(long long x) { return __builtin_ffsll(x); }
GNARL_INLINE int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
GNARL_INLINE int __clzll(long long x) {
    return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64;
}
GNARL_INLINE unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}

// Bytes of x, 0 to 3, and of y, 4 to 7, that the selector's four lowest digits name.
GNARL_INLINE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
    unsigned result = 0;
    for (int to = 0; to < 4; ++to) {
        result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * to & 7) & 0xff) << 8 * to;
    }
    return result;
}

GNARL_INLINE int __float_as_int(float x) { return gnarl_bits<int>(x); }
GNARL_INLINE unsigned __float_as_uint(float x) { return gnarl_bits<unsigned>(x); }
GNARL_INLINE float __int_as_float(int x) { return gnarl_bits<float>(x); }
GNARL_INLINE float __uint_as_float(unsigned x) { return gnarl_bits<float>(x); }

// The kernels are compiled without contraction: each of these rounds once, to the nearest.
GNARL_INLINE float __fadd_rn(float a, float b) { return a + b; }
GNARL_INLINE float __fsub_rn(float a, float b) { return a - b; }
GNARL_INLINE float __fmul_rn(float a, float b) { return a * b; }
GNARL_INLINE float __fdiv_rn(float a, float b) { return a / b; }
GNARL_INLINE float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
GNARL_INLINE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

#define GNARL_LEAST(T)                                     \
    GNARL_INLINE T min(T a, T b) { return a < b ? a : b; } \
    GNARL_INLINE T max(T a, T b) { return a > b ? a : b; }
GNARL_LEAST(int)
GNARL_LEAST(unsigned int)
GNARL_LEAST(long)
GNARL_LEAST(unsigned long)
GNARL_LEAST(long long)
GNARL_LEAST(unsigned long long)
#undef GNARL_LEAST
// If one operand is not a number, the other is the result.
GNARL_INLINE float min(float a, float b) { return __builtin_fminf(a, b); }
GNARL_INLINE float max(float a, float b) { return __builtin_fmaxf(a, b); }
GNARL_INLINE double min(double a, double b) { return __builtin_fmin(a, b); }
GNARL_INLINE double max(double a, double b) { return __builtin_fmax(a, b); }

// The rest.

GNARL_INLINE long long clock64() { return static_cast<long long>(gnarl_emulation_globaltimer()); }
GNARL_INLINE void __trap(GNARL_PLACE) { gnarl_emulation_trap(file, line); }
