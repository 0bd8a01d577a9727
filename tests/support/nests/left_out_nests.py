"""Nests of elements that a condition alone keeps inside of their arrays, by name."""

from __future__ import annotations

import numpy as np

from gnarl.sw.workloads.loops.python.source import read_source
from gnarl.sw.workloads.loops.workload import LoopWorkload

_HEAD = (
    '(n,) = sizes("n")\n\n\n@nest\ndef f(\n'
    "    a: float32[n], b: float32[n], y: float32[n], z: float32[n, 6], q: float32[4, n],\n"
    "    u: int32[n], w: int32[n], c: int32[n], s: float32,\n"
    "):\n"
)
_MERGING = (
    'n, m, few, rows = sizes("n", "m", "few", "rows")\n\n\n@nest\ndef f(\n'
    "    l: int32[n], r: int32[m], lv: float32[n], rv: float32[m], sv: float32[few],\n"
    "    lo: int32[rows], y: float32[20], z: float32[20], e: float32[30], s: float32,\n"
    "):\n"
)


def _lines(*lines: str) -> str:
    return "".join(f"    {each}\n" for each in lines)


BODIES = {
    "below": _lines(
        "for k in range(n):",
        "    y[k] += (a[k - 2] if k > 1 else s)",
    ),
    "below, written": _lines(
        "for k in range(n):",
        "    a[k] = (a[k - 2] if k > 1 else s)",
    ),
    "above": _lines(
        "for k in range(n):",
        "    y[k] += (a[k + 5] if k < n - 5 else s)",
    ),
    "otherwise": _lines(
        "for k in range(n):",
        "    y[k] += (s if k < 2 else a[k - 2])",
    ),
    "both": _lines(
        "for k in range(n):",
        "    y[k] += (a[k - 2] if k > 1 else b[k + 7])",
    ),
    "a place that is loaded": _lines(
        "for k in range(n):",
        "    y[k] += (a[w[k]] if w[k] == k or w[k] == 3 else s)",
    ),
    "a place of two conditions": _lines(
        "for k in range(n):",
        "    y[k] += (a[w[k]] if w[k] >= 0 and w[k] < n else s)",
    ),
    "a place at a place": _lines(
        "for k in range(n):",
        "    y[k] += (a[u[k - 2]] if k > 1 else s)",
    ),
    "a place at a loaded place": _lines(
        "for k in range(n):",
        "    y[k] += (a[u[w[k]]] if w[k] >= 0 and w[k] < n else s)",
    ),
    "nested choice": _lines(
        "for k in range(n):",
        "    y[k] += ((a[k - 3] if k > 2 else b[k]) if k < 8 else (a[k - 9] if k > 20 else s))",
    ),
    "choice in index": _lines(
        "for k in range(n):",
        "    y[k] += a[(u[k - 2] if k > 1 else 0)]",
    ),
    "choice in cond": _lines(
        "for k in range(n):",
        "    y[k] += (a[k] if (u[k - 2] if k > 1 else 0) > 1 else s)",
    ),
    "and": _lines(
        "for k in range(n):",
        "    y[k] += (a[k] if k > 1 and a[k - 2] > 2.0 else s)",
    ),
    "or": _lines(
        "for k in range(n):",
        "    y[k] += (a[k] if k < 2 or a[k - 2] > 2.0 else s)",
    ),
    "not": _lines(
        "for k in range(n):",
        "    y[k] += (a[k] if not (k < 2 or a[k - 2] > 2.0) else s)",
    ),
    "and if": _lines(
        "for k in range(n):",
        "    if k > 1 and a[k - 2] > 2.0:",
        "        y[k] += s",
    ),
    "or if": _lines(
        "for k in range(n):",
        "    if k < 2 or u[k - 2] > 2:",
        "        y[k] += s",
        "    else:",
        "        y[k] = a[k - 2]",
    ),
    "and and": _lines(
        "for k in range(n):",
        "    if k > 1 and k < 7 and a[u[k - 2]] > 2.0 and a[k + 2] > 0.0:",
        "        y[k] += s",
    ),
    "a load under a condition": _lines(
        "for k in range(n):",
        "    if k > 1:",
        "        y[k] += a[k - 2]",
    ),
    "a load under one condition of two": _lines(
        "for k in range(n):",
        "    if k > 1:",
        "        y[k] = a[k - 2]",
        "    else:",
        "        y[k] = s",
    ),
    "a store": _lines(
        "for k in range(n):",
        "    if k > 1:",
        "        y[k - 2] = a[k]",
    ),
    "a store at a loaded place": _lines(
        "for k in range(n):",
        "    if w[k] >= 0 and w[k] < n:",
        "        y[w[k]] += a[k]",
    ),
    "a store and a load at a loaded place": _lines(
        "for k in range(n):",
        "    if w[k] >= 0 and w[k] < n:",
        "        y[w[k]] = a[w[k]]",
    ),
    "a loop under a condition": _lines(
        "for k in range(n):",
        "    if k > 1:",
        "        for j in range(6):",
        "            z[k - 2, j] += a[k - 2]",
    ),
    "a loop under two conditions": _lines(
        "for k in range(n):",
        "    if w[k] >= 0:",
        "        if w[k] < n:",
        "            for j in range(6):",
        "                z[w[k], j] += a[w[k]]",
    ),
    "in an inner loop": _lines(
        "for k in range(n):",
        "    for j in range(6):",
        "        z[k, j] += (a[k - 2] if k > 1 else s)",
    ),
    "by two counters": _lines(
        "for k in range(n):",
        "    for j in range(6):",
        "        z[k, j] += (a[j + k - 5] if j + k > 4 and j + k - 5 < n else s)",
    ),
    "of rows that are written": _lines(
        "for k in range(1, n):",
        "    for j in range(6):",
        "        z[k, j] = (z[k - 2, j] if k > 1 else s) + z[k, j]",
    ),
    "rows": _lines(
        "for k in range(4):",
        "    for j in range(n):",
        "        y[j] += (q[k - 1, j] if k > 0 else s)",
    ),
    "columns": _lines(
        "for k in range(4):",
        "    for j in range(n):",
        "        y[j] += (q[w[j], k] if w[j] > 0 and w[j] < 4 else s)",
    ),
    "hoisted": _lines(
        "for k in range(n):",
        "    for j in range(6):",
        "        y[k] += (a[k - 2] if k > 1 else s) * 2.0",
    ),
    "before a loop": _lines(
        "for k in range(n):",
        "    t = (a[k - 2] if k > 1 else s)",
        "    for j in range(6):",
        "        z[k, j] += t * b[j]",
    ),
    "a place before a loop": _lines(
        "for k in range(n):",
        "    t = (u[k - 2] if k > 1 else 0)",
        "    for j in range(6):",
        "        z[t, j] += b[j]",
    ),
    "before a loop, stored": _lines(
        "for k in range(n):",
        "    t = (a[k - 2] if k > 1 else s)",
        "    a[k] = t",
        "    for j in range(6):",
        "        z[k, j] += b[j]",
    ),
    "a bound": _lines(
        "for k in range(n):",
        "    for j in range(0, (u[k - 2] if k > 1 else 2)):",
        "        y[k] += a[j]",
    ),
    "a lower bound": _lines(
        "for k in range(n):",
        "    for j in range((u[k - 1] if k > 0 else 0), u[k]):",
        "        y[k] += a[j]",
    ),
    "a local under a condition": _lines(
        "for k in range(n):",
        "    t = s",
        "    if k > 1:",
        "        t = a[k - 2]",
        "    y[k] += t",
    ),
    "a local place": _lines(
        "for k in range(n):",
        "    i = k - 2",
        "    y[k] += (a[i] if i >= 0 else s)",
    ),
    "a loaded local place": _lines(
        "for k in range(n):",
        "    i = w[k]",
        "    y[k] += (a[i] if i >= 0 and i < n else s)",
    ),
    "in a maximum": _lines(
        "for k in range(n):",
        "    y[k] = max(y[k], (a[k - 2] if k > 1 else s))",
    ),
    "two choices, by factors": _lines(
        "for k in range(n):",
        "    t = a[k * 2] if k * 2 < n else s",
        "    y[k] += t * (b[n - 1 - 2 * k] if 2 * k <= n - 1 else 1.0)",
    ),
    "of whole numbers": _lines(
        "for k in range(n):",
        "    c[k] += (u[k - 2] if k > 1 else 7)",
    ),
    "a condition that loads what another one allows": _lines(
        "for k in range(n):",
        "    y[k] += (a[u[k] + 5] if u[k] + 5 < n and c[u[k] + 5] > 0 else s)",
    ),
    "added up": _lines(
        "for k in range(n):",
        "    y[0] += (a[k - 2] if k > 1 else s)",
    ),
    "added up in order": _lines(
        "for k in range(n):",
        "    y[k] = s",
        "    for j in range(n):",
        "        y[k] += (a[j - k] if j >= k else s)",
    ),
    "two loops": _lines(
        "for k in range(n):",
        "    y[k] += (a[k - 2] if k > 1 else s)",
        "for k in range(n):",
        "    b[k] = (y[k + 3] if k + 3 < n else a[k])",
    ),
    "conditions and choices": _lines(
        "for k in range(n):",
        "    if (a[k - 2] if k > 1 else s) > 1.0:",
        "        y[k] = (b[k - 3] if k > 2 else s)",
        "    elif k > 3 and b[k - 4] > 0.0:",
        "        y[k] = b[k - 4]",
    ),
    "a chosen row, written": _lines(
        "for k in range(n):",
        "    for j in range(6):",
        "        z[k, j] = (z[w[k], j] if w[k] >= 0 and w[k] < n else s)",
    ),
    "a chosen row": _lines(
        "for k in range(n):",
        "    for j in range(4):",
        "        z[k, j] += (q[j, w[k]] if w[k] >= 0 and w[k] < n else s)",
    ),
    "a chosen row, stored": _lines(
        "for k in range(n):",
        "    for j in range(6):",
        "        if w[k] >= 0 and w[k] < n:",
        "            z[w[k], j] = b[j]",
    ),
}
"""Of loops whose bounds are numbers; places of ``w`` are outside of all arrays, too."""

MERGES = {
    "of a union: plain": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    y[k] = (lv[p] if hp else 0.0) + (rv[q] if hq else 0.0)",
    ),
    "of a union: either": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    y[k] = lv[p] if hp else rv[q]",
    ),
    "of a union: one": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    y[k] = lv[p] if hp else 1.0",
    ),
    "of a union: short": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    y[k] = sv[p] if hp and p < few else 1.0",
    ),
    "of a union: short2": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    y[k] = (sv[p] if p < few else s) if hp else 1.0",
    ),
    "of a union: next": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    y[k] = lv[p + 1] if hp and p + 1 < n else 1.0",
    ),
    "of a union: next2": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    y[k] = (lv[p + 1] if p + 1 < n else 0.0) if hp else 1.0",
    ),
    "of a union: next3": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    y[k] = (lv[p - 1] if p > 0 else 0.0) if hp else (rv[q - 1] if q > 0 else 2.0)",
    ),
    "of a union: and": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    if hp and p > 0 and lv[p - 1] > 1.0:",
        "        y[k] = rv[q] if hq else 3.0",
    ),
    "of a union: and2": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    y[k] = s if (hp and lv[p] > 2.0) or (hq and rv[q] > 2.0) else 7.0",
    ),
    "of a union: and3": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    t = hp and p > 0 and lv[p - 1] > 2.0",
        "    y[k] = s if t or (hq and q > 0 and rv[q - 1] > 2.0) else 7.0",
    ),
    "of a union: k": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    y[k] = (e[k - 5] if k > 4 else 1.0) + (lv[p] if hp else 0.0)",
    ),
    "of a union: if": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    if hp:",
        "        y[k] = lv[p]",
        "    else:",
        "        y[k] = rv[q]",
    ),
    "of a union: if short": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    if hp and p < few:",
        "        y[k] = sv[p]",
        "    else:",
        "        y[k] = 1.0",
    ),
    "of a union: if2": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    if hp:",
        "        y[k] = lv[p]",
        "        z[k] = (lv[p - 1] if p > 0 else s)",
        "    else:",
        "        y[k] = rv[q]",
        "        z[k] = 0.0",
    ),
    "of a union: off": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    for j in range((lo[p] if hp else 0), (lo[p + 1] if hp else 0)):",
        "        y[k] += e[j]",
    ),
    "of a union: off2": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    for j in range((lo[p] if hp else 0), (lo[p + 1] if hp else 0)):",
        "        y[k] += (e[j - 2] if j > 1 else s)",
    ),
    "of a union: inner": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    for j in range(4):",
        "        y[k] += (lv[p] if hp else 0.0) * e[j]",
    ),
    "of a union: inner2": _lines(
        "for k, (p, q), (hp, hq) in union(l, r):",
        "    for j in range(4):",
        "        y[k] += (lv[p - 1] if hp and p > 0 else 0.0) * e[j]",
    ),
    "of an intersection: plain": _lines(
        "for k, (p, q) in intersect(l, r):",
        "    y[k] = lv[p] * rv[q]",
    ),
    "of an intersection: next": _lines(
        "for k, (p, q) in intersect(l, r):",
        "    y[k] = (lv[p + 1] if p + 1 < n else 0.0) * rv[q]",
    ),
    "of an intersection: short": _lines(
        "for k, (p, q) in intersect(l, r):",
        "    y[k] = (sv[p] if p < few else 0.0) * rv[q]",
    ),
    "of an intersection: ifshort": _lines(
        "for k, (p, q) in intersect(l, r):",
        "    if p < few:",
        "        y[k] = sv[p]",
        "    else:",
        "        y[k] = rv[q]",
    ),
    "of an intersection: ifshort2": _lines(
        "for k, (p, q) in intersect(l, r):",
        "    if p < few:",
        "        y[k] = sv[p]",
        "        z[k] = sv[p]",
        "    else:",
        "        y[k] = rv[q]",
        "        z[k] = s",
    ),
    "of an intersection: both": _lines(
        "for k, (p, q) in intersect(l, r):",
        "    y[k] = (e[p * 2 + q - 3] if p * 2 + q > 2 else s)",
    ),
    "of an intersection: k": _lines(
        "for k, (p, q) in intersect(l, r):",
        "    y[k] = (e[k - 5] if k > 4 else s) * rv[q]",
    ),
    "of an intersection: w": _lines(
        "for k, (p, q) in intersect(l, r):",
        "    if p > 0:",
        "        y[k - 1] += lv[p - 1]",
    ),
    "of an intersection: out": _lines(
        "for i in range(3):",
        "    for k, (p, q) in intersect(l[lo[i]:lo[i + 1]], r):",
        "        y[k] += (lv[p + i - 2] if p + i > 1 else s)",
    ),
    "of a union: out": _lines(
        "for i in range(3):",
        "    for k, (p, q), (hp, hq) in union(l[lo[i]:lo[i + 1]], r):",
        "        y[k] += (lv[p - 1] if hp and p > 0 else s) + (e[i - 1] if i > 0 else s)",
    ),
}
"""Of loops over merged fibers; ``sv`` is shorter than ``l``."""


def left_out(name: str) -> LoopWorkload:
    """A workload of ``BODIES`` or ``MERGES``."""
    merges = name in MERGES
    nest = read_source(_MERGING + MERGES[name] if merges else _HEAD + BODIES[name], "file.py")
    values = _merged_values() if merges else _values()
    known = (*nest.arrays, *nest.scalars)
    return LoopWorkload("f", nest, {each: values[each] for each in known})


def _values(n: int = 9) -> dict[str, np.ndarray]:
    return {
        "a": np.arange(n, dtype=np.float32),
        "b": 2 * np.arange(n, dtype=np.float32)[::-1],
        "y": np.ones(n, np.float32),
        "z": np.ones((n, 6), np.float32),
        "q": np.arange(4 * n, dtype=np.float32).reshape(4, n),
        "u": np.array([1, 0, 2, 1, 0, 1, 3, 4, 5], np.int32),
        "w": np.array([-1, 3, 0, 1_000_000, 8, 2, 9, -100_000, 1], np.int32),
        "c": np.array([1, 0, 2, 1, 0, 1, 3, 4, 5], np.int32),
        "s": np.array(1, np.float32),
    }


def _merged_values() -> dict[str, np.ndarray]:
    return {
        "l": np.array([1, 3, 4, 8, 12], np.int32),
        "r": np.array([0, 3, 8, 9, 15, 19], np.int32),
        "lv": np.arange(1, 6, dtype=np.float32),
        "rv": np.arange(10, 16, dtype=np.float32),
        "sv": np.array([7, 8, 9], np.float32),
        "lo": np.array([0, 2, 3, 5, 5, 5], np.int32),
        "y": np.zeros(20, np.float32),
        "z": np.zeros(20, np.float32),
        "e": np.arange(30, dtype=np.float32),
        "s": np.array(1, np.float32),
    }
