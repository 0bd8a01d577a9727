// CUDA's vector types: their alignment, and the functions that make them.
#pragma once

#define GNARL_VECTOR_TYPES(base, scalar)                                                     \
    struct alignas(2 * sizeof(scalar)) base##2 {                                             \
        scalar x, y;                                                                         \
    };                                                                                       \
    struct base##3 {                                                                         \
        scalar x, y, z;                                                                      \
    };                                                                                       \
    struct alignas(4 * sizeof(scalar) < 16 ? 4 * sizeof(scalar) : 16) base##4 {              \
        scalar x, y, z, w;                                                                   \
    };                                                                                       \
    static inline base##2 make_##base##2(scalar x, scalar y) { return {x, y}; }              \
    static inline base##3 make_##base##3(scalar x, scalar y, scalar z) { return {x, y, z}; } \
    static inline base##4 make_##base##4(scalar x, scalar y, scalar z, scalar w) {           \
        return {x, y, z, w};                                                                 \
    }

GNARL_VECTOR_TYPES(char, signed char)
GNARL_VECTOR_TYPES(uchar, unsigned char)
GNARL_VECTOR_TYPES(short, short)
GNARL_VECTOR_TYPES(ushort, unsigned short)
GNARL_VECTOR_TYPES(int, int)
GNARL_VECTOR_TYPES(uint, unsigned int)
GNARL_VECTOR_TYPES(longlong, long long)
GNARL_VECTOR_TYPES(ulonglong, unsigned long long)
GNARL_VECTOR_TYPES(float, float)
GNARL_VECTOR_TYPES(double, double)

#undef GNARL_VECTOR_TYPES

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
