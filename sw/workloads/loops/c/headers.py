"""Headers of C's library: no file of theirs is read; names that nests can use are here."""

from __future__ import annotations

from collections.abc import Mapping

_EMPTY: Mapping[str, str] = {}

_INTEGERS = {
    **{f"INT{bits}_MAX": str(2 ** (bits - 1) - 1) for bits in (8, 16, 32)},
    **{f"INT{bits}_MIN": f"(-{2 ** (bits - 1) - 1} - 1)" for bits in (8, 16, 32)},
    "UINT8_MAX": "255",
    "UINT16_MAX": "65535",
    "UINT32_MAX": "4294967295u",
}

_LIMITS = {
    "CHAR_BIT": "8",
    "SCHAR_MIN": "(-128)",
    "SCHAR_MAX": "127",
    "UCHAR_MAX": "255",
    "CHAR_MIN": "(-128)",
    "CHAR_MAX": "127",
    "SHRT_MIN": "(-32768)",
    "SHRT_MAX": "32767",
    "USHRT_MAX": "65535",
    "INT_MIN": "(-2147483647 - 1)",
    "INT_MAX": "2147483647",
    "UINT_MAX": "4294967295u",
}

_FLOATS = {
    "FLT_MAX": "3.40282346638528859811704183484516925e+38f",
    "FLT_MIN": "1.17549435082228750796873653722224568e-38f",
    "FLT_EPSILON": "1.19209289550781250000000000000000000e-7f",
    "FLT_RADIX": "2",
    "FLT_MANT_DIG": "24",
}

_MATH = {
    "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923",
    "M_PI_4": "0.78539816339744830962",
    "M_E": "2.7182818284590452354",
    "M_LN2": "0.69314718055994530942",
    "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440",
    "INFINITY": "__builtin_inff()",
    "HUGE_VALF": "__builtin_inff()",
}

_POINTERS = {"NULL": "((void *)0)"}

HEADERS: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "assert.h",
            "complex.h",
            "ctype.h",
            "errno.h",
            "fenv.h",
            "malloc.h",
            "memory.h",
            "omp.h",
            "setjmp.h",
            "signal.h",
            "stdalign.h",
            "stdarg.h",
            "stdatomic.h",
            "stdnoreturn.h",
            "string.h",
            "strings.h",
            "sys/resource.h",
            "sys/time.h",
            "sys/types.h",
            "time.h",
            "unistd.h",
        ),
        _EMPTY,
    ),
    "float.h": _FLOATS,
    "inttypes.h": _INTEGERS,
    "limits.h": _LIMITS,
    "math.h": _MATH,
    "stdbool.h": {"true": "1", "false": "0"},
    "stddef.h": _POINTERS,
    "stdint.h": _INTEGERS,
    "stdio.h": _POINTERS,
    "stdlib.h": {**_POINTERS, "EXIT_SUCCESS": "0", "EXIT_FAILURE": "1"},
    "tgmath.h": _MATH,
}
"""Macros of each header."""

PREDEFINED: Mapping[str, str] = {
    "__STDC__": "1",
    "__STDC_VERSION__": "201710L",
    "__restrict": "restrict",
    "__restrict__": "restrict",
    "__inline": "inline",
    "__inline__": "inline",
    "__const": "const",
    "__extension__": "",
}
"""Macros that there are before a file begins."""

TYPEDEFS = (
    "typedef signed char int8_t; typedef short int16_t; typedef int int32_t; "
    "typedef long int64_t; typedef unsigned char uint8_t; typedef unsigned short uint16_t; "
    "typedef unsigned uint32_t; typedef unsigned long uint64_t; typedef unsigned long size_t; "
    "typedef long ptrdiff_t; typedef long ssize_t; typedef _Bool bool; typedef struct FILE FILE;\n"
)
"""Types of all headers, on one line."""
