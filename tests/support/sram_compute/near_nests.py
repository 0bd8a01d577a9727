"""Nests that stream engines run: sources in C and Python by name, with values of their arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Values = Callable[[np.random.Generator], dict[str, Any]]


def integers(chance: np.random.Generator, *shape: int) -> np.ndarray:
    return chance.integers(-(1 << 31), 1 << 31, shape, np.int64).astype(np.int32)


def floats(chance: np.random.Generator, *shape: int) -> np.ndarray:
    return chance.standard_normal(shape, np.float32)


NESTS: dict[str, tuple[str, Values]] = {
    "interior": (
        "void f(int n, float a[n], float b[n]) {\n"
        "  for (int i = 1; i < n - 1; i++) b[i] = (a[i - 1] + a[i + 1]) * 0.5f;\n}",
        lambda chance: {"a": floats(chance, 100)},
    ),
    "strided": (
        "void f(int n, int a[n], int b[2 * n]) {\n"
        "  for (int i = 0; i < n; i += 3) b[2 * i + 1] = a[i] < 0 ? -a[i] : 3 * a[n - 1 - i];\n}",
        lambda chance: {"a": integers(chance, 77)},
    ),
    "matrix": (
        "void f(int n, int m, float a[n][m], float b[n][m], float c[n][m], float s) {\n"
        "  for (int i = 0; i < n; i++)\n"
        "    for (int j = 0; j < m; j++) c[i][j] = a[i][j] * s - b[i][j] / 3.0f;\n}",
        lambda chance: {
            "a": floats(chance, 3, 37),
            "b": floats(chance, 3, 37),
            "s": np.float32(1.5),
        },
    ),
    "product": (
        "void f(int n, int m, int k, float a[n][k], float b[k][m], float c[n][m]) {\n"
        "  for (int i = 0; i < n; i++)\n    for (int j = 0; j < m; j++)\n"
        "      for (int l = 0; l < k; l++) c[i][j] += a[i][l] * b[l][j];\n}",
        lambda chance: {
            "a": floats(chance, 3, 5),
            "b": floats(chance, 5, 20),
            "c": floats(chance, 3, 20),
        },
    ),
    "wide product": (
        "void f(int n, int m, int k, float a[n][k], float b[k][m], float c[n][m]) {\n"
        "  for (int i = 0; i < n; i++)\n    for (int j = 0; j < m; j++)\n"
        "      for (int l = 0; l < k; l++) c[i][j] += b[l][j] * a[i][l];\n}",
        lambda chance: {"a": floats(chance, 7, 4), "b": floats(chance, 4, 30)},
    ),
    "largest": (
        "from gnarl.sw.workloads.loops.notation import float32, nest, sizes\n\n"
        "n, m = sizes('n, m')\n\n\n@nest\n"
        "def f(a: float32[n, m], b: float32[m]):\n    for j in range(m):\n"
        "        most = float32(-1)\n        for i in range(n):\n"
        "            most = max(most, a[i, j])\n        b[j] = 2.0 * most + float32(j)\n",
        lambda chance: {"a": floats(chance, 6, 40)},
    ),
    "gather": (
        "void f(int n, int m, int k, int index[n], float table[m][k], float out[k][n]) {\n"
        "  for (int j = 0; j < k; j++)\n"
        "    for (int i = 0; i < n; i++) out[j][i] = table[index[i]][j] + out[j][i];\n}",
        lambda chance: {
            "index": chance.integers(0, 9, 50, np.int32),
            "table": floats(chance, 9, 4),
            "out": floats(chance, 4, 50),
        },
    ),
    "embedding": (
        "void f(int n, int m, int index[n], int offset, float table[m], float out[n]) {\n"
        "  for (int i = 0; i < n; i++) out[i] = table[2 * index[i] + offset] * 0.25f;\n}",
        lambda chance: {
            "index": chance.integers(0, 20, 50, np.int32),
            "offset": np.int32(3),
            "table": floats(chance, 60),
        },
    ),
    "chosen": (
        "void f(int n, float a[n], int b[n], int c[n]) {\n"
        "  for (int i = 0; i < n; i++)\n"
        "    if (a[i] >= 0.0f && b[i] != i) c[i] = b[i] == 7 || b[i] <= -1 ? i : b[i] >> 3;\n}",
        lambda chance: {
            "a": floats(chance, 70),
            "b": chance.integers(-9, 70, 70, np.int32),
            "c": integers(chance, 70),
        },
    ),
    "numbers": (
        "void f(int n, float a[n], int b[n], float c[n]) {\n"
        "  for (int i = 0; i < n; i++) {\n"
        "    float x = fabsf(a[i]) - (float)b[i];\n    c[i] = x * x - (float)(a[i] < x);\n  }\n}",
        lambda chance: {"a": floats(chance, 40), "b": integers(chance, 40)},
    ),
    "steps": (
        "void f(int n, float a[n], float b[n], int steps) {\n"
        "  for (int t = 0; t < steps; t++) {\n"
        "    for (int i = 1; i < n - 1; i++) b[i] = a[i - 1] + a[i + 1];\n"
        "    for (int i = 1; i < n - 1; i++) a[i] = b[i] * 0.5f;\n  }\n}",
        lambda chance: {"a": floats(chance, 50), "steps": np.int32(3)},
    ),
    "two sums": (
        "void f(int n, int m, int a[n][m], int total[1]) {\n"
        "  for (int i = 0; i < n; i++)\n    for (int j = 0; j < m; j++) total[0] += a[i][j];\n}",
        lambda chance: {"a": integers(chance, 3, 11), "total": integers(chance, 1)},
    ),
    "one sum": (
        "void f(int n, float a[n], float b[n], float total[2]) {\n"
        "  for (int i = 3; i < n; i++) total[1] += a[i] * b[i - 3];\n}",
        lambda chance: {
            "a": floats(chance, 203),
            "b": floats(chance, 203),
            "total": floats(chance, 2),
        },
    ),
    "a local sum": (
        "void f(int n, float a[n], float mean[1], float b[n]) {\n  float total = 1.0f;\n"
        "  for (int i = 0; i < n; i++) total += a[i];\n  mean[0] = total / (float)n;\n"
        "  for (int i = 0; i < n; i++) b[i] = a[i] * mean[0];\n}",
        lambda chance: {"a": floats(chance, 70)},
    ),
    "an integer sum": (
        "void f(int n, int a[n], int total[1]) {\n"
        "  for (int i = 0; i < n; i += 2) total[0] += a[i];\n}",
        lambda chance: {"a": integers(chance, 301), "total": integers(chance, 1)},
    ),
    "the least": (
        "from gnarl.sw.workloads.loops.notation import float32, nest, sizes\n\n"
        "(n,) = sizes('n')\n\n\n@nest\ndef f(a: float32[n], b: float32[1]):\n"
        "    least = float32(9)\n    for i in range(n):\n        least = min(least, a[i])\n"
        "    b[0] = least\n",
        lambda chance: {"a": floats(chance, 90)},
    ),
    "place of the least": (
        "void f(int n, int m, float a[n][m], int place[m], float least[m]) {\n"
        "  for (int j = 0; j < m; j++) {\n    int best = 0;\n    float value = a[0][j];\n"
        "    for (int i = 1; i < n; i++)\n"
        "      if (a[i][j] < value) {\n        value = a[i][j];\n        best = i;\n      }\n"
        "    place[j] = best;\n    least[j] = value * 2.0f;\n  }\n}",
        lambda chance: {"a": chance.integers(-3, 3, (5, 40)).astype(np.float32)},
    ),
    "place of the largest of all": (
        "void f(int n, int a[n], int place[2]) {\n  int best = 0, most = a[0];\n"
        "  for (int i = 1; i < n; i++)\n    if (a[i] > most) {\n      most = a[i];\n"
        "      best = i;\n    }\n  place[0] = best;\n  place[1] = most;\n}",
        lambda chance: {"a": integers(chance, 30)},
    ),
    "polynomial": (
        "void f(int n, int m, float c[m], float x[n], float y[n]) {\n"
        "  for (int i = 0; i < n; i++) {\n    float total = 0.0f;\n"
        "    for (int j = 0; j < m; j++) total = total * x[i] + c[j] * (float)(j + i);\n"
        "    y[i] = total;\n  }\n}",
        lambda chance: {"c": floats(chance, 4), "x": floats(chance, 45)},
    ),
    "histogram": (
        "void f(int n, int m, int index[n], float weight[n], float sums[m], int counts[m]) {\n"
        "  for (int i = 0; i < n; i++) sums[index[i]] += weight[i];\n"
        "  for (int i = 0; i < n; i++) counts[index[i]] += 1;\n}",
        lambda chance: {
            "index": chance.integers(0, 9, 50, np.int32),
            "weight": floats(chance, 50),
            "sums": floats(chance, 9),
            "counts": integers(chance, 9),
        },
    ),
    "scan": (
        "void f(int n, int m, float a[n][m]) {\n"
        "  for (int i = 1; i < n; i++)\n"
        "    for (int j = 1; j < m; j++) a[i][j] = 0.5f * a[i][j - 1] + a[i - 1][j];\n}",
        lambda chance: {"a": floats(chance, 4, 13)},
    ),
    "nothing": (
        "void f(int n, float a[n], float b[n], int k) {\n"
        "  for (int i = 0; i < k; i++) a[i] = 1.0f;\n"
        "  for (int i = 0; i < n; i++)\n    for (int j = 0; j < k; j++) b[i] += a[j];\n}",
        lambda chance: {"a": floats(chance, 9), "b": floats(chance, 9), "k": np.int32(0)},
    ),
}
