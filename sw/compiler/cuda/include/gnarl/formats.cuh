// Number formats of tables and outputs: storage types, vector loads and stores, conversion.
//
// Elements are computed with in float32 whatever their storage.
#pragma once

namespace gnarl {

struct Float16 {
  unsigned short bits;
};

struct BFloat16 {
  unsigned short bits;
};

__device__ __forceinline__ float to_float(float value) { return value; }

__device__ __forceinline__ float to_float(BFloat16 value) {
  return __int_as_float(static_cast<int>(value.bits) << 16);
}

__device__ __forceinline__ float to_float(Float16 value) {
#ifdef __CUDA_ARCH__
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
#else
  const unsigned sign = (value.bits & 0x8000u) << 16;
  const unsigned exponent = (value.bits >> 10) & 0x1fu;
  const unsigned fraction = value.bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: a multiple of 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const unsigned biased = exponent == 0x1fu ? 0xffu : exponent + 112u;
  return __int_as_float(static_cast<int>(sign | (biased << 23) | (fraction << 13)));
#endif
}

template <class T>
__device__ __forceinline__ T from_float(float value);

template <>
__device__ __forceinline__ float from_float<float>(float value) {
  return value;
}

// Rounds to nearest, ties to even; NaN stays a quiet NaN.
template <>
__device__ __forceinline__ BFloat16 from_float<BFloat16>(float value) {
  const unsigned bits = static_cast<unsigned>(__float_as_int(value));
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return {static_cast<unsigned short>((bits >> 16) | 0x40u)};
  }
  return {static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

// Rounds to nearest, ties to even.
template <>
__device__ __forceinline__ Float16 from_float<Float16>(float value) {
#ifdef __CUDA_ARCH__
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return {bits};
#else
  const unsigned bits = static_cast<unsigned>(__float_as_int(value));
  const unsigned sign = (bits >> 16) & 0x8000u;
  const unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<unsigned short>(0x7fffu)};
  if (magnitude >= 0x477ff000u) return {static_cast<unsigned short>(sign | 0x7c00u)};
  unsigned rounded;
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 leaves a multiple of 2^-24 in the end
    rounded = static_cast<unsigned>(__float_as_int(__int_as_float(magnitude) + 0.5f)) - 0x3f000000u;
  } else {
    rounded = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return {static_cast<unsigned short>(sign | rounded)};
#endif
}

template <class T>
__device__ __forceinline__ T minus_infinity();

template <>
__device__ __forceinline__ float minus_infinity<float>() {
  return -__int_as_float(0x7f800000);
}

template <>
__device__ __forceinline__ Float16 minus_infinity<Float16>() {
  return {0xfc00u};
}

template <>
__device__ __forceinline__ BFloat16 minus_infinity<BFloat16>() {
  return {0xff80u};
}

// The widest load or store: 16 bytes.
template <int kBytes>
struct Word;
template <>
struct Word<1> {
  using Type = unsigned char;
};
template <>
struct Word<2> {
  using Type = unsigned short;
};
template <>
struct Word<4> {
  using Type = unsigned int;
};
template <>
struct Word<8> {
  using Type = uint2;
};
template <>
struct Word<16> {
  using Type = uint4;
};

template <class T, int kVector>
union Pack {
  typename Word<sizeof(T) * kVector>::Type word;
  T elements[kVector];
};

// kVector elements from an address that is a multiple of their size, through the read-only cache.
template <int kVector, class T>
__device__ __forceinline__ Pack<T, kVector> load_pack(const T* source) {
  Pack<T, kVector> pack;
  pack.word = __ldg(reinterpret_cast<const decltype(pack.word)*>(source));
  return pack;
}

// begin + count * bytes, in one instruction: compilers make three of mad.wide, and of what they add up
// themselves.
template <class T>
__device__ __forceinline__ const T* further(const T* begin, int count, int bytes) {
#ifdef __CUDA_ARCH__
  const T* found;
  asm("{ .reg .s64 product; mul.wide.s32 product, %1, %2; add.s64 %0, product, %3; }"
      : "=l"(found)
      : "r"(count), "r"(bytes), "l"(begin));
  return found;
#else
  const auto* octets = reinterpret_cast<const unsigned char*>(begin);
  return reinterpret_cast<const T*>(octets + static_cast<long long>(count) * bytes);
#endif
}

// What was loaded, of which nothing is computed before this point: compilers, left to themselves, move
// additions, which wait for their operands, before loads that are ready to go.
template <class T, int kVector>
__device__ __forceinline__ void use_late(Pack<T, kVector>& pack) {
#ifdef __CUDA_ARCH__
  auto& word = pack.word;
  if constexpr (sizeof(word) == 16) {
    asm volatile("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
  } else if constexpr (sizeof(word) == 8) {
    asm volatile("" : "+r"(word.x), "+r"(word.y));
  } else if constexpr (sizeof(word) == 4) {
    asm volatile("" : "+r"(word));
  }
#endif
}

// An index or a weight, which nothing reads again: the first to leave the caches, so that rows stay.
template <class T>
__device__ __forceinline__ T load_once(const T* source) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 8) {
    long long word;
    asm("ld.global.nc.L1::evict_first.b64 %0, [%1];" : "=l"(word) : "l"(source));
    return word;
  } else {
    int word;
    asm("ld.global.nc.L1::evict_first.b32 %0, [%1];" : "=r"(word) : "l"(source));
    union {
      int bits;
      T value;
    } found = {word};
    return found.value;
  }
#else
  return __ldg(source);
#endif
}

// As load_once where `present`; elsewhere the value stays as it is.
template <class T>
__device__ __forceinline__ void load_once_if(bool present, const T* source, T& value) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 8) {
    asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.L1::evict_first.b64 %0, [%1]; }"
        : "+l"(value)
        : "l"(source), "r"(static_cast<int>(present)));
  } else {
    union {
      T value;
      int bits;
    } found = {value};
    asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.L1::evict_first.b32 %0, [%1]; }"
        : "+r"(found.bits)
        : "l"(source), "r"(static_cast<int>(present)));
    value = found.value;
  }
#else
  if (present) value = __ldg(source);
#endif
}

// Memory that is loaded from as by load_pack where `present`; elsewhere the pack stays as it is.
struct FromGlobal {
  // One instruction, under a predicate that ends with it: compilers, left to themselves, load into
  // other registers and move from there what is present once it has come.
  template <class T, int kVector>
  static __device__ __forceinline__ void load_pack_if(bool present, const unsigned char* source,
                                                      Pack<T, kVector>& pack) {
#ifdef __CUDA_ARCH__
    auto& word = pack.word;
    if constexpr (sizeof(word) == 16) {
      asm("{ .reg .pred p; setp.ne.s32 p, %5, 0; @p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4]; }"
          : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w)
          : "l"(source), "r"(static_cast<int>(present)));
    } else if constexpr (sizeof(word) == 8) {
      asm("{ .reg .pred p; setp.ne.s32 p, %3, 0; @p ld.global.nc.v2.u32 {%0, %1}, [%2]; }"
          : "+r"(word.x), "+r"(word.y)
          : "l"(source), "r"(static_cast<int>(present)));
    } else if constexpr (sizeof(word) == 4) {
      asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.u32 %0, [%1]; }"
          : "+r"(word)
          : "l"(source), "r"(static_cast<int>(present)));
    } else if constexpr (sizeof(word) == 2) {
      asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.u16 %0, [%1]; }"
          : "+h"(word)
          : "l"(source), "r"(static_cast<int>(present)));
    } else {
      unsigned short loaded = word;
      asm("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.u8 %0, [%1]; }"
          : "+h"(loaded)
          : "l"(source), "r"(static_cast<int>(present)));
      word = static_cast<unsigned char>(loaded);
    }
#else
    if (present) load_pack(source, pack);
#endif
  }

  template <class T, int kVector>
  static __device__ __forceinline__ void load_pack(const unsigned char* source,
                                                   Pack<T, kVector>& pack) {
    pack.word = __ldg(reinterpret_cast<const decltype(pack.word)*>(source));
  }
};

struct FromShared {
  template <class T, int kVector>
  static __device__ __forceinline__ void load_pack_if(bool present, const unsigned char* source,
                                                      Pack<T, kVector>& pack) {
    if (present) pack.word = *reinterpret_cast<const decltype(pack.word)*>(source);
  }
};

// kVector elements in stores of kPart, to an address that is a multiple of their size. They stay
// out of the first-level cache: nobody reads them soon.
template <int kPart, int kVector, class T>
__device__ __forceinline__ void store_parts(T* target, const float (&values)[kVector]) {
#pragma unroll
  for (int first = 0; first < kVector; first += kPart) {
    Pack<T, kPart> pack;
#pragma unroll
    for (int k = 0; k < kPart; ++k) pack.elements[k] = from_float<T>(values[first + k]);
    __stcg(reinterpret_cast<decltype(pack.word)*>(target + first), pack.word);
  }
}

// kVector elements to any address, in as few stores as its alignment allows.
template <int kVector, class T>
__device__ __forceinline__ void store_floats(T* target, const float (&values)[kVector]) {
  constexpr int kMost = 16 / sizeof(T);
  constexpr int kPart = kVector < kMost ? kVector : kMost;
  if (kPart > 1 && reinterpret_cast<unsigned long long>(target) % (kPart * sizeof(T)) != 0) {
    store_parts<1>(target, values);
  } else {
    store_parts<kPart>(target, values);
  }
}

}  // namespace gnarl
