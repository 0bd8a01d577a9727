// How tables store rows: elements one after the other, or codes with a scale and a bias for each
// row. Mirrors sw/workloads/embedding/rowwise.py.
#pragma once

#include "gnarl/formats.cuh"

namespace gnarl {

// Codes, and what those of a word stand for.
struct Int8 {
  static constexpr int kBits = 8;

  // The code is made the end of 2^23's fraction: conversion instructions are slower.
  static __device__ __forceinline__ float value(unsigned word, int k) {
    const unsigned bits = __byte_perm(word, 0x4b000000u, 0x7650u + k);
    return __int_as_float(static_cast<int>(bits)) - 0x1p23f;
  }
};

struct Int4 {
  static constexpr int kBits = 4;

  static __device__ __forceinline__ float value(unsigned word, int k) {
    return Int8::value((k % 2 ? word >> 4 : word) & 0x0f0f0f0fu, k / 2);
  }
};

struct E4M3 {
  static constexpr int kBits = 8;

  // With exponent and fraction where those of a float begin, it has 2^-120 of its value.
  static __device__ __forceinline__ float value(unsigned word, int k) {
    const int high = static_cast<int>(__byte_perm(word, 0, 0x0444u + (k << 12)));
    return __int_as_float(high >> 4 & 0x87f00000) * 0x1p120f;
  }
};

// The type of tables with such codes.
template <class Code>
struct Rowwise {};

using Int8Rowwise = Rowwise<Int8>;
using Int4Rowwise = Rowwise<Int4>;
using Fp8Rowwise = Rowwise<E4M3>;

// Where a row begins, and a vector of it.
struct RowAddress {
  const unsigned char* row;
  const unsigned char* vector;
};

// So many rows of kRowBytes after `begin`.
template <int kRowBytes>
__device__ __forceinline__ const unsigned char* below(const unsigned char* begin, int rows) {
  return further(begin, rows, kRowBytes);
}

// Rows of kDim elements of a type.
template <class Table, int kDim>
struct Rows {
  static constexpr int kBits = 8 * sizeof(Table);  // from one column to the next
  static constexpr int kBytes = sizeof(Table) * kDim;

  template <int kVector>
  struct Vector {
    static constexpr bool kHasScale = false;

    Pack<Table, kVector> elements;

    __device__ __forceinline__ float value(int k) const { return to_float(elements.elements[k]); }

    // Makes it what pools as nothing in a maximum, or a sum.
    template <bool kMaximum>
    __device__ __forceinline__ void clear() {
#pragma unroll
      for (int k = 0; k < kVector; ++k) {
        elements.elements[k] = kMaximum ? minus_infinity<Table>() : Table{};
      }
    }
  };
};

template <class Code, int kDim>
struct Rows<Rowwise<Code>, kDim> {
  static constexpr int kBits = Code::kBits;
  static constexpr int kScale = (kDim * kBits / 8 + 7) / 8 * 8;  // where scale and bias are
  static constexpr int kBytes = (kScale + 8 + 15) / 16 * 16;

  template <int kVector>
  struct Vector {
    static constexpr bool kHasScale = true;
    static constexpr int kBytes = kVector * kBits / 8;
    static_assert(kBytes > 0, "a vector must be whole bytes");
    using CodeWord = typename Word<(kBytes < 4 ? kBytes : 4)>::Type;
    static constexpr int kCodes = 8 * sizeof(CodeWord) / kBits;  // of a word

    Pack<CodeWord, kVector / kCodes> elements;
    Pack<float, 2> scale_and_bias;

    __device__ __forceinline__ float value(int k) const {
      const float value = Code::value(elements.elements[k / kCodes], k % kCodes);
      return fmaf(scale_and_bias.elements[0], value, scale_and_bias.elements[1]);
    }

    template <bool kMaximum>
    __device__ __forceinline__ void clear() {
      elements.word = {};
      scale_and_bias.elements[0] = 0.0f;
      scale_and_bias.elements[1] = kMaximum ? minus_infinity<float>() : 0.0f;
    }
  };
};

}  // namespace gnarl
