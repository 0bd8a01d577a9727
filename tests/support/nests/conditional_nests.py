"""Nests whose work depends on their arrays' elements, in C, by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gnarl.sw.workloads.loops.c.source import read_source
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.workload import LoopWorkload

SOURCES = {
    "threshold": "int a[n], int b[n]) {\n"
    "  for (int i = 0; i < n; i++)\n    if (a[i] > 5) b[i] = a[i] * 2;\n}",
    "floats": "float a[n], float b[n]) {\n"
    "  for (int i = 0; i < n; i++)\n    if (a[i] > 5.0f) b[i] = a[i] * 2.0f + b[i];\n}",
    "branches": "int a[n], int b[n], int c[n]) {\n"
    "  for (int i = 0; i < n; i++)\n    if (a[i] > 5) b[i] = a[i] * 2;\n"
    "    else { b[i] = c[i] - a[i]; c[i] = 3; }\n}",
    "octets": "int8_t a[n], int16_t b[n], uint8_t c[n]) {\n"
    "  for (int i = 0; i < n; i++)\n    if (a[i] > 5) b[i] = a[i] * 2 + c[i];\n"
    "    else if (b[i] > 5) c[i] = b[i] - a[i];\n}",
    "both": "int a[n], int b[n], int c[n]) {\n"
    "  for (int i = 0; i < n; i++)\n    if (a[i] > 5 && b[i] < 3) c[i] = a[i] + b[i];\n}",
    "nested": "int a[n], int b[n], int c[n]) {\n"
    "  for (int i = 0; i < n; i++)\n    if (a[i] > 5) {\n      c[i] = a[i];\n"
    "      if (b[i] > 5) c[i] = b[i];\n    }\n}",
    "in a row": "int a[n], int b[n], int c[n]) {\n"
    "  for (int i = 0; i < n; i++) b[i] = a[i] + 1;\n"
    "  for (int i = 0; i < n; i++)\n    if (b[i] > 6) c[i] = b[i] * a[i];\n}",
    "count": "int a[n], int b[1]) {\n"
    "  for (int i = 0; i < n; i++)\n    if (a[i] > 5) b[0] += a[i];\n}",
}


def conditional(name: str, n: int, often: float, seed: int = 0) -> LoopWorkload:
    """``often``: how many elements are 9, the others being 1."""
    nest: Nest = read_source(f"#include <stdint.h>\nvoid f(int n, {SOURCES[name]}\n", "nest.c")
    random = np.random.default_rng(seed)
    values: Mapping[str, np.ndarray] = {
        each: np.where(
            random.random(1 if each == "b" and name == "count" else n) < often, 9, 1
        ).astype(array.type.dtype)
        for each, array in nest.arrays.items()
    }
    return LoopWorkload("f", nest, dict(values))
