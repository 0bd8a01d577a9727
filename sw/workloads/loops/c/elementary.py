"""``expf`` and ``powf`` in C that nests have: locals of float, arithmetic and choices.

``expf`` is within 1 unit in the last place of the exact value, ``powf`` within 3. Sources: Cephes,
``expf.c``; Muller and others, *Handbook of Floating-Point Arithmetic*, sections 4.3 and 4.4 (exact
sums and products of two floats).
"""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import Any

from pycparser import c_ast
from pycparser.c_parser import CParser

_CLAMPED = """
float z = {p} < -104.0f ? -104.0f : {p} > 89.0f ? 89.0f : {p};
float k = (z * 1.44269504f + 12582912.0f) - 12582912.0f;
float r0 = (z - k * 0.693145752f) - k * 1.42860677e-6f;
"""
"""``k`` is whole, and exp(z) = exp(r0) * 2^k."""

_STEPS = (64, 32, 16, 8, 4, 2, 1)


def _power(first: str) -> str:
    """exp(r) * 2^k: exact but for the last product, since small factors come first."""
    lines = [
        first,
        "float q0 = 1.98756915e-4f * r + 1.39819995e-3f;",
        "float q1 = (q0 * r + 8.33345191e-3f) * r + 4.16657959e-2f;",
        "float q2 = (q1 * r + 1.66666655e-1f) * r + 5.00000012e-1f;",
        "float f0 = (q2 * (r * r) + r) + 1.0f;",
        "float m0 = k < 0.0f ? -k : k;",
        "float m1 = m0 >= 128.0f ? m0 - 128.0f : m0;",
    ]
    left, value = "m1", "f0"
    for step in _STEPS:
        lines.append(f"float m{step}_ = {left} >= {step}.0f ? {left} - {step}.0f : {left};")
        lines.append(f"float s{step}_ = {left} >= {step}.0f ? {_factor(step)} : 1.0f;")
        left = f"m{step}_"
    for step in reversed(_STEPS):
        lines.append(f"float f{step}_ = {value} * s{step}_;")
        value = f"f{step}_"
    half = f"{value} * {_factor(64)}"
    lines.append(f"float magnitude = m0 >= 128.0f ? {half} * {_factor(64)} : {value};")
    return "\n".join(lines)


def _factor(step: int) -> str:
    return f"(k < 0.0f ? {2.0**-step!r}f : {2.0**step!r}f)"


_EXPF = _CLAMPED.format(p="x") + _power("float r = r0;") + "float result = magnitude;"


def _scaled() -> str:
    """abs(x) = m * 2^e, of m from 1/sqrt(2) to sqrt(2)."""
    lines, value, count = ["float a0 = fabsf(x);", "float e0 = 0.0f;"], 0, 0
    large = f"{2.0**64!r}f"
    for _ in range(3):
        lines.append(f"float e{count + 1} = a{value} < 1.0f ? e{count} - 64.0f : e{count};")
        lines.append(f"float a{value + 1} = a{value} < 1.0f ? a{value} * {large} : a{value};")
        value, count = value + 1, count + 1
    for step in _STEPS:
        bound, down = f"{2.0**step!r}f", f"{2.0**-step!r}f"
        lines.append(f"float e{count + 1} = a{value} >= {bound} ? e{count} + {step}.0f : e{count};")
        lines.append(f"float a{value + 1} = a{value} >= {bound} ? a{value} * {down} : a{value};")
        value, count = value + 1, count + 1
    lines.append(f"float e = a{value} > 1.41421356f ? e{count} + 1.0f : e{count};")
    lines.append(f"float m = a{value} > 1.41421356f ? a{value} * 0.5f : a{value};")
    return "\n".join(lines)


def _product(one: str, other: str, result: str) -> str:
    """A product as ``result`` + ``result``_low, exactly."""
    name = result
    return f"""
float {name} = {one} * {other};
float {name}_c = {one} * 4097.0f;
float {name}_ah = {name}_c - ({name}_c - {one});
float {name}_al = {one} - {name}_ah;
float {name}_d = {other} * 4097.0f;
float {name}_bh = {name}_d - ({name}_d - {other});
float {name}_bl = {other} - {name}_bh;
float {name}_x = (({name}_ah * {name}_bh - {name}) + {name}_ah * {name}_bl) + {name}_al * {name}_bh;
float {name}_low = {name}_x + {name}_al * {name}_bl;
"""


_POWF = (
    _scaled()
    + """
float f = m - 1.0f;
float d = f + 2.0f;
float d_low = f - (d - 2.0f);
float s = f / d;
"""
    + _product("s", "d", "sd")
    + """
float s_low = (((f - sd) - sd_low) - s * d_low) / d;
float w = s * s;
float c1 = 0.285714286f + w * (0.222222222f + w * (0.181818182f + w * 0.153846154f));
float c = w * (0.666666667f + w * (0.4f + w * c1));
float low = 2.0f * s_low * (1.0f + w) + s * c;
float whole = e * 0.693145752f;
float sum = whole + 2.0f * s;
float part = sum - whole;
float rest = (whole - (sum - part)) + (2.0f * s - part);
float log_low = (rest + low) + e * 1.42860677e-6f;
float log = sum + log_low;
float log_rest = log_low - (log - sum);
float by = y < -1e11f ? -1e11f : y > 1e11f ? 1e11f : y;
"""
    + _product("by", "log", "t")
    + _CLAMPED.format(p="t")
    + _power("float r = t < -104.0f || t > 89.0f ? r0 : r0 + (t_low + by * log_rest);")
    + """
float size = fabsf(y);
float near = size < 8388608.0f ? (size + 8388608.0f) - 8388608.0f : size;
float half = near * 0.5f;
float near_half = half < 8388608.0f ? (half + 8388608.0f) - 8388608.0f : half;
float is_odd = near == size && near_half != half ? 1.0f : 0.0f;
float infinite = __builtin_inff();
float any = x == 0.0f || a0 == infinite
    ? ((y < 0.0f) == (x == 0.0f) ? infinite : 0.0f) : magnitude;
float is_negative = x < 0.0f || (x == 0.0f && 1.0f / x < 0.0f) ? 1.0f : 0.0f;
float signed_one = is_negative * is_odd == 1.0f ? -any : any;
float real = x < 0.0f && a0 != infinite && near != size ? (x - x) / (x - x) : signed_one;
float number = x != x || y != y ? x + y : real;
float result = x == 1.0f || y == 0.0f ? 1.0f : number;
"""
)

TEXTS = {"expf": (("x",), _EXPF), "powf": (("x", "y"), _POWF)}
"""Parameters, and declarations of which the last is the result."""


@cache
def declarations(name: str) -> tuple[Any, ...]:
    """The declarations of a function."""
    tree = CParser().parse(f"void f(void) {{ {TEXTS[name][1]} }}", "")
    (function,) = tree.ext
    items: tuple[Any, ...] = tuple(function.body.block_items)
    return items


def placed(node: Any, coord: Any, names: dict[str, str]) -> Any:
    """A copy of a node at another place, with other names."""
    if isinstance(node, list):
        return [placed(each, coord, names) for each in node]
    if not isinstance(node, c_ast.Node):
        return node
    made = copy(node)
    for slot in node.__slots__:
        if slot != "__weakref__":
            setattr(made, slot, placed(getattr(node, slot), coord, names))
    if isinstance(made, c_ast.ID):
        made.name = names.get(made.name, made.name)
    made.coord = coord
    return made
