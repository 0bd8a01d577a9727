// The language of CUDA kernels for a host compiler: what NVRTC knows without any header.
//
// It is included before the kernels by an option of the compiler. Meaning: CUDA C++ Programming
// Guide. Beyond it: a lane may not name a lane that has exited, nor shuffle from one that its mask
// lacks; __activemask gives the calling lane alone, which is among the answers a GPU may give;
// functions gnarl_emulation_* stand for what a GPU does by inline assembly.
#pragma once

#define GNARL_EMULATION 1

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "vector_types.h"
#include "wait.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__
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

extern "C" {
unsigned long long gnarl_emulation_barrier(gnarl_emulation::Wait wait, bool predicate, const char* file,
                                           int line);
unsigned long long gnarl_emulation_warp(gnarl_emulation::Wait wait, unsigned mask, unsigned long long value,
                                        unsigned lane, unsigned width, const char* file, int line);
[[noreturn]] void gnarl_emulation_trap(const char* file, int line);
void gnarl_emulation_copy_async(void* shared, const void* global, int bytes);
void gnarl_emulation_commit();
void gnarl_emulation_wait(int pending_groups);
unsigned long long gnarl_emulation_globaltimer();
void* gnarl_emulation_memcpy(void* to, const void* from, std::size_t size);
void* gnarl_emulation_memset(void* to, int value, std::size_t size);
}

// Compilers expand small copies themselves, past the checks.
#define memcpy gnarl_emulation_memcpy
#define memset gnarl_emulation_memset

// Barriers of the block.

GNARL_INLINE void __syncthreads(GNARL_PLACE) { gnarl_emulation_barrier(gnarl_emulation::Wait::syncthreads, false, file, line); }
GNARL_INLINE int __syncthreads_count(int predicate, GNARL_PLACE) {
    return static_cast<int>(gnarl_emulation_barrier(gnarl_emulation::Wait::syncthreads_count, predicate, file, line));
}
GNARL_INLINE int __syncthreads_and(int predicate, GNARL_PLACE) {
    return static_cast<int>(gnarl_emulation_barrier(gnarl_emulation::Wait::syncthreads_and, predicate, file, line));
}
GNARL_INLINE int __syncthreads_or(int predicate, GNARL_PLACE) {
    return static_cast<int>(gnarl_emulation_barrier(gnarl_emulation::Wait::syncthreads_or, predicate, file, line));
}
GNARL_INLINE void __threadfence_block() { __asm__ volatile("" ::: "memory"); }
GNARL_INLINE void __threadfence() { __asm__ volatile("" ::: "memory"); }

// Operations of a warp.

GNARL_INLINE void __syncwarp(unsigned mask = 0xffffffffu, GNARL_PLACE) {
    gnarl_emulation_warp(gnarl_emulation::Wait::syncwarp, mask, 0, 0, 32, file, line);
}

template <class To, class From>
GNARL_INLINE To gnarl_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits of two types of one size");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

#define GNARL_SHUFFLE(T, Bits)                                                                 \
    GNARL_INLINE T __shfl_sync(unsigned mask, T value, int lane, int width = 32, GNARL_PLACE) {   \
        return gnarl_bits<T>(static_cast<Bits>(gnarl_emulation_warp(                           \
            gnarl_emulation::Wait::shfl, mask, gnarl_bits<Bits>(value), lane, width, file, line)));                      \
    }                                                                                          \
    GNARL_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,         \
                               GNARL_PLACE) {                                                  \
        return gnarl_bits<T>(static_cast<Bits>(gnarl_emulation_warp(                           \
            gnarl_emulation::Wait::shfl_up, mask, gnarl_bits<Bits>(value), delta, width, file, line)));                     \
    }                                                                                          \
    GNARL_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,       \
                                 GNARL_PLACE) {                                                \
        return gnarl_bits<T>(static_cast<Bits>(gnarl_emulation_warp(                           \
            gnarl_emulation::Wait::shfl_down, mask, gnarl_bits<Bits>(value), delta, width, file, line)));                     \
    }                                                                                          \
    GNARL_INLINE T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32,             \
                                GNARL_PLACE) {                                                 \
        return gnarl_bits<T>(static_cast<Bits>(gnarl_emulation_warp(                           \
            gnarl_emulation::Wait::shfl_xor, mask, gnarl_bits<Bits>(value), lanes, width, file, line)));                     \
    }
GNARL_SHUFFLE(int, unsigned)
GNARL_SHUFFLE(unsigned, unsigned)
GNARL_SHUFFLE(long, unsigned long)
GNARL_SHUFFLE(unsigned long, unsigned long)
GNARL_SHUFFLE(long long, unsigned long long)
GNARL_SHUFFLE(unsigned long long, unsigned long long)
GNARL_SHUFFLE(float, unsigned)
GNARL_SHUFFLE(double, unsigned long long)
#undef GNARL_SHUFFLE

GNARL_INLINE unsigned __ballot_sync(unsigned mask, int predicate, GNARL_PLACE) {
    return static_cast<unsigned>(
        gnarl_emulation_warp(gnarl_emulation::Wait::ballot, mask, predicate != 0, 0, 32, file, line));
}
GNARL_INLINE int __all_sync(unsigned mask, int predicate, GNARL_PLACE) {
    return static_cast<int>(gnarl_emulation_warp(gnarl_emulation::Wait::all, mask, predicate != 0, 0, 32, file, line));
}
GNARL_INLINE int __any_sync(unsigned mask, int predicate, GNARL_PLACE) {
    return static_cast<int>(gnarl_emulation_warp(gnarl_emulation::Wait::any, mask, predicate != 0, 0, 32, file, line));
}
GNARL_INLINE unsigned __activemask() { return 1u << (threadIdx.x % 32); }

#define GNARL_MATCH(T, Bits)                                                                   \
    GNARL_INLINE unsigned __match_any_sync(unsigned mask, T value, GNARL_PLACE) {                 \
        return static_cast<unsigned>(gnarl_emulation_warp(gnarl_emulation::Wait::match_any, mask, gnarl_bits<Bits>(value), 0, \
                                                          32, file, line));                    \
    }
GNARL_MATCH(int, unsigned)
GNARL_MATCH(unsigned, unsigned)
GNARL_MATCH(long long, unsigned long long)
GNARL_MATCH(unsigned long long, unsigned long long)
GNARL_MATCH(float, unsigned)
GNARL_MATCH(double, unsigned long long)
#undef GNARL_MATCH

#define GNARL_REDUCE(name, T, wait)                                                            \
    GNARL_INLINE T name(unsigned mask, T value, GNARL_PLACE) {                                    \
        return static_cast<T>(gnarl_emulation_warp(gnarl_emulation::Wait::wait, mask, static_cast<unsigned>(value), 0, \
                                                   32, file, line));                           \
    }
GNARL_REDUCE(__reduce_add_sync, unsigned, reduce_add)
GNARL_REDUCE(__reduce_add_sync, int, reduce_add)
GNARL_REDUCE(__reduce_min_sync, unsigned, reduce_min)
GNARL_REDUCE(__reduce_max_sync, unsigned, reduce_max)
GNARL_REDUCE(__reduce_min_sync, int, reduce_min_signed)
GNARL_REDUCE(__reduce_max_sync, int, reduce_max_signed)
GNARL_REDUCE(__reduce_and_sync, unsigned, reduce_and)
GNARL_REDUCE(__reduce_or_sync, unsigned, reduce_or)
GNARL_REDUCE(__reduce_xor_sync, unsigned, reduce_xor)
#undef GNARL_REDUCE

// Memory. The hints of cached loads and stores change nothing.

#define GNARL_ATOMICS(T)                     \
    T atomicAdd(T* address, T value);        \
    T atomicMax(T* address, T value);        \
    T atomicMin(T* address, T value);        \
    T atomicExch(T* address, T value);       \
    T atomicAnd(T* address, T value);        \
    T atomicOr(T* address, T value);         \
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

GNARL_INLINE int __float_as_int(float x) { return gnarl_bits<int>(x); }
GNARL_INLINE unsigned __float_as_uint(float x) { return gnarl_bits<unsigned>(x); }
GNARL_INLINE float __int_as_float(int x) { return gnarl_bits<float>(x); }
GNARL_INLINE float __uint_as_float(unsigned x) { return gnarl_bits<float>(x); }

// The kernels are compiled without contraction: each of these rounds once, to the nearest.
GNARL_INLINE float __fadd_rn(float a, float b) { return a + b; }
GNARL_INLINE float __fsub_rn(float a, float b) { return a - b; }
GNARL_INLINE float __fmul_rn(float a, float b) { return a * b; }
GNARL_INLINE float __fdiv_rn(float a, float b) { return a / b; }
GNARL_INLINE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

#define GNARL_LEAST(T)                                       \
    GNARL_INLINE T min(T a, T b) { return a < b ? a : b; }   \
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
using std::abs;

// The rest.

GNARL_INLINE long long clock64() { return static_cast<long long>(gnarl_emulation_globaltimer()); }
GNARL_INLINE void __trap(GNARL_PLACE) { gnarl_emulation_trap(file, line); }
