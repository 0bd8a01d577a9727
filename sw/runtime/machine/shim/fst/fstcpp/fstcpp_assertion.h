// Checks of Verilator's FST writer, in place of its own header. Those that it has for its debugging are left out: one of
// them ends the process where a file cannot be written, as on a full disk. Whether a file is whole is seen when it is read.
#pragma once

#include <cstdlib>
#include <iostream>

#define FST_CHECK_THAT(condition)                                       \
    do {                                                                \
        if (!(condition)) {                                             \
            std::cerr << "writer of waves: not " #condition << std::endl; \
            std::abort();                                               \
        }                                                               \
    } while (0)

#define FST_CHECK(a) FST_CHECK_THAT(a)
#define FST_CHECK_EQ(a, b) FST_CHECK_THAT((a) == (b))
#define FST_CHECK_NE(a, b) FST_CHECK_THAT((a) != (b))
#define FST_CHECK_GT(a, b) FST_CHECK_THAT((a) > (b))
#define FST_CHECK_GE(a, b) FST_CHECK_THAT((a) >= (b))
#define FST_CHECK_LT(a, b) FST_CHECK_THAT((a) < (b))
#define FST_CHECK_LE(a, b) FST_CHECK_THAT((a) <= (b))

#define FST_DCHECK(a)
#define FST_DCHECK_EQ(a, b)
#define FST_DCHECK_NE(a, b)
#define FST_DCHECK_GT(a, b)
#define FST_DCHECK_GE(a, b)
#define FST_DCHECK_LT(a, b)
#define FST_DCHECK_LE(a, b)
