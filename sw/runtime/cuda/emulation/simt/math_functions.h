// The C library's mathematics, which NVRTC too knows without any header. <cmath> would take longer
// to read than most kernels take to compile.
#pragma once

#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()

#define GNARL_UNARY(name)            \
    double name(double x) noexcept;  \
    float name##f(float x) noexcept;
#define GNARL_BINARY(name)                     \
    double name(double x, double y) noexcept;  \
    float name##f(float x, float y) noexcept;
#define GNARL_ROUNDING(name, T) \
    T name(double x) noexcept;  \
    T name##f(float x) noexcept;

extern "C" {
GNARL_UNARY(acos) GNARL_UNARY(acosh) GNARL_UNARY(asin) GNARL_UNARY(asinh)
GNARL_UNARY(atan) GNARL_UNARY(atanh) GNARL_UNARY(cos) GNARL_UNARY(cosh)
GNARL_UNARY(sin) GNARL_UNARY(sinh) GNARL_UNARY(tan) GNARL_UNARY(tanh)
GNARL_UNARY(exp) GNARL_UNARY(exp2) GNARL_UNARY(expm1)
GNARL_UNARY(log) GNARL_UNARY(log10) GNARL_UNARY(log1p) GNARL_UNARY(log2) GNARL_UNARY(logb)
GNARL_UNARY(cbrt) GNARL_UNARY(sqrt) GNARL_UNARY(fabs)
GNARL_UNARY(erf) GNARL_UNARY(erfc) GNARL_UNARY(lgamma) GNARL_UNARY(tgamma)
GNARL_UNARY(ceil) GNARL_UNARY(floor) GNARL_UNARY(nearbyint) GNARL_UNARY(rint)
GNARL_UNARY(round) GNARL_UNARY(trunc)
GNARL_BINARY(atan2) GNARL_BINARY(copysign) GNARL_BINARY(fdim) GNARL_BINARY(fmax)
GNARL_BINARY(fmin) GNARL_BINARY(fmod) GNARL_BINARY(hypot) GNARL_BINARY(nextafter)
GNARL_BINARY(pow) GNARL_BINARY(remainder)
GNARL_ROUNDING(ilogb, int)
GNARL_ROUNDING(lrint, long) GNARL_ROUNDING(llrint, long long)
GNARL_ROUNDING(lround, long) GNARL_ROUNDING(llround, long long)
double fma(double x, double y, double z) noexcept;
float fmaf(float x, float y, float z) noexcept;
double frexp(double x, int* exponent) noexcept;
float frexpf(float x, int* exponent) noexcept;
double ldexp(double x, int exponent) noexcept;
float ldexpf(float x, int exponent) noexcept;
double scalbn(double x, int exponent) noexcept;
float scalbnf(float x, int exponent) noexcept;
double modf(double x, double* whole) noexcept;
float modff(float x, float* whole) noexcept;
double remquo(double x, double y, int* quotient) noexcept;
float remquof(float x, float y, int* quotient) noexcept;
int abs(int x) noexcept;
long labs(long x) noexcept;
long long llabs(long long x) noexcept;
}
#undef GNARL_UNARY
#undef GNARL_BINARY
#undef GNARL_ROUNDING

GNARL_INLINE long abs(long x) { return __builtin_labs(x); }
GNARL_INLINE long long abs(long long x) { return __builtin_llabs(x); }
GNARL_INLINE float abs(float x) { return __builtin_fabsf(x); }
GNARL_INLINE double abs(double x) { return __builtin_fabs(x); }
