// How tables store rows: elements one after the other, or codes with a scale and a bias for each
// row. Mirrors sw/workloads/embedding/rowwise.py.
#pragma once

#include "gnarl/formats.cuh"

namespace gnarl {

// Codes, and what they stand for.
struct Int8 {
  static constexpr int kBits = 8;
  static __device__ __forceinline__ float value(unsigned code) { return static_cast<float>(code); }
};

struct Int4 {
  static constexpr int kBits = 4;
  static __device__ __forceinline__ float value(unsigned code) { return static_cast<float>(code); }
};

// e4m3: with exponent and fraction where those of a float are, it has 2^-120 of its value.
struct Fp8 {
  static constexpr int kBits = 8;
  static __device__ __forceinline__ float value(unsigned code) {
    return __int_as_float(static_cast<int>((code & 0x80u) << 24 | (code & 0x7fu) << 20)) * 0x1p120f;
  }
};

// The type of tables with such codes.
template <class Code>
struct Rowwise {};

using Int8Rowwise = Rowwise<Int8>;
using Int4Rowwise = Rowwise<Int4>;
using Fp8Rowwise = Rowwise<Fp8>;

// A vector of a row.
struct RowAddress {
  const unsigned char* row;
  const unsigned char* vector;
};

// Memory that rows are loaded from.
struct FromGlobal {
  template <int kVector, class T>
  static __device__ __forceinline__ void load_if(bool present, const T* source,
                                                 Pack<T, kVector>& pack) {
    load_pack_if<kVector>(present, source, pack);
  }
};

struct FromShared {
  template <int kVector, class T>
  static __device__ __forceinline__ void load_if(bool present, const T* source,
                                                 Pack<T, kVector>& pack) {
    if (present) pack.word = *reinterpret_cast<const decltype(pack.word)*>(source);
  }
};

// Rows of kDim elements of a type.
template <class Table, int kDim>
struct Rows {
  static constexpr int kBits = 8 * sizeof(Table);  // from one column to the next
  static constexpr int kBytes = sizeof(Table) * kDim;

  template <int kVector>
  struct Vector {
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

    template <class Memory>
    __device__ __forceinline__ void load_if(bool present, const RowAddress& address) {
      Memory::template load_if<kVector>(
          present, reinterpret_cast<const Table*>(address.vector), elements);
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
    static constexpr int kOctets = kVector * kBits / 8;
    static_assert(kOctets > 0, "a vector must be whole bytes");

    Pack<unsigned char, kOctets> codes;
    Pack<float, 2> scale_and_bias;

    __device__ __forceinline__ float value(int k) const {
      constexpr int kPerOctet = 8 / kBits;
      const unsigned octet = codes.elements[k / kPerOctet];
      const unsigned code = octet >> k % kPerOctet * kBits & ((1u << kBits) - 1);
      return fmaf(scale_and_bias.elements[0], Code::value(code), scale_and_bias.elements[1]);
    }

    template <bool kMaximum>
    __device__ __forceinline__ void clear() {
      codes.word = {};
      scale_and_bias.elements[0] = 0.0f;
      scale_and_bias.elements[1] = kMaximum ? minus_infinity<float>() : 0.0f;
    }

    template <class Memory>
    __device__ __forceinline__ void load_if(bool present, const RowAddress& address) {
      Memory::template load_if<kOctets>(present, address.vector, codes);
      Memory::template load_if<2>(
          present, reinterpret_cast<const float*>(address.row + kScale), scale_and_bias);
    }
  };
};

}  // namespace gnarl
