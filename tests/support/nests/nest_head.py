"""The first lines of functions in the notation of loop nests, for bodies to be put below."""

from __future__ import annotations

HEAD = """n, m = sizes('n', 'm')
K = 3
F = 0.5
def f(x: float32[n], i: int32[n], u: uint8[n], z: float32[n, m], s: float32, t: int32):
"""
