# amaranth: UnusedElaboratable=no
"""Dividers and square roots: results of all formats, timing, stalls, resets, lint, errors."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.float.div import FloatDivider
from gnarl.hw.lib.float.sqrt import FloatSquareRoot
from gnarl.hw.lib.formats import FLOAT_FORMATS, FloatFormat
from gnarl.hw.lib.integer.div import IntegerDivider
from gnarl.hw.lib.iterative import Iterative
from gnarl.sw.golden.division import divide, divide_integers, square_root
from gnarl.sw.runtime.machine.verilate import lint
from tests.support.arithmetic.floats import FORMATS, fresh_rng, numbers, words
from tests.support.arithmetic.iterative import Columns, IterativeUnits, SideBySide, check_protocol
from tests.support.arithmetic.numbers import corners, crossed
from tests.support.arithmetic.quotients import ExactQuotients, quotient_operands, root_operands
from tests.support.arithmetic.units import assert_same_words, convert

ODD = {"odd_2_1": FloatFormat(2, 1), "odd_2_4": FloatFormat(2, 4), "odd_6_40": FloatFormat(6, 40)}
"""Without a NumPy type; the widest range of exponents for its bias is the last one's."""
ALL = {**FORMATS, **ODD}
BITS = {"float32": (1, 3), "float8_e4m3": (1, 2, 9), "float8_e5m2": (1, 2), "odd_2_1": (5,)}
"""Bits a cycle; 1 where nothing is said."""
WIDTHS = {1: (1, 2), 5: (1, 2, 8), 32: (1, 3), 64: (1,)}
"""Bits a cycle of integer dividers, by their width."""


@cache
def units(kind: str) -> IterativeUnits:
    """``short``: 8-bit formats; ``long``: all others, and integers."""
    found: dict[str, Iterative] = {}
    for name, format in ALL.items():
        if (format.width == 8) == (kind == "short"):
            for bits in BITS.get(name, (1,)):
                found[f"div_{name}_by_{bits}"] = FloatDivider(format, bits)
                found[f"sqrt_{name}_by_{bits}"] = FloatSquareRoot(format, bits)
    if kind == "long":
        for width, several in WIDTHS.items():
            for bits in several:
                found[f"int_{width}_by_{bits}"] = IntegerDivider(width, bits)
    return IterativeUnits(found)


def operands_of(kind: str, count: int) -> dict[str, Columns]:
    """Corners crossed, then random ones, ``count`` for each unit."""
    rng = fresh_rng()
    found = {}
    for unit in units(kind).units:
        what, _, rest = unit.partition("_")
        name = rest.rpartition("_by_")[0]
        if what == "int":
            pairs = _integers(int(name), rng)
        elif what == "div":
            named = crossed(corners(ALL[name]))
            pairs = np.concatenate([named, quotient_operands(ALL[name], count, rng)], axis=1)
        else:
            pairs = np.concatenate([corners(ALL[name]), root_operands(ALL[name], count, rng)])[None]
        chosen = np.resize(pairs, (len(pairs), count)) if pairs.shape[1] < count else pairs
        fields = ("dividend", "divisor") if what != "sqrt" else ("bits",)
        found[unit] = dict(zip(fields, chosen[:, :count], strict=True))
    return found


def _integers(width: int, rng: np.random.Generator) -> npt.NDArray[np.uint64]:
    top = (1 << width) - 1
    near = {word & top for base in (0, top // 2, top) for word in range(base - 2, base + 3)}
    random = rng.integers(0, top, (2, 4_000), np.uint64, endpoint=True)
    random >>= rng.integers(0, width, (2, 4_000)).astype(np.uint64)
    return np.concatenate([crossed(np.array(sorted(near), np.uint64)), random], axis=1)


def expected_of(unit: str, given: Columns) -> Columns:
    what, _, rest = unit.partition("_")
    name = rest.rpartition("_by_")[0]
    given = {field: part.astype(np.uint64) for field, part in given.items()}
    if what == "int":
        quotient, remainder = divide_integers(given["dividend"], given["divisor"], int(name))
        return {"quotient": quotient, "remainder": remainder, "by_zero": given["divisor"] == 0}
    if name in FLOAT_FORMATS:
        golden = divide if what == "div" else square_root
        return {"bits": golden(*given.values(), name)}
    if name == "float64":
        values = [numbers(name, part) for part in given.values()]
        with np.errstate(all="ignore"):
            return {"bits": words(name, (np.divide if what == "div" else np.sqrt)(*values))}
    exact = ExactQuotients(ALL[name])
    compute = exact.divide if what == "div" else exact.square_root
    rows = zip(*(part.tolist() for part in given.values()), strict=True)
    return {"bits": np.array([compute(*row) for row in rows], np.uint64)}


def check(kind: str, operands: dict[str, Columns]) -> None:
    for unit, got in units(kind).compute(operands).items():
        for field, expected in expected_of(unit, operands[unit]).items():
            given = tuple(operands[unit].values())
            assert_same_words(got[field], expected, given, f"{unit} {field}")


@pytest.mark.parametrize(("kind", "count"), [("short", 2_000), ("long", 500)])
def test_corners_and_random_operands(kind: str, count: int) -> None:
    check(kind, operands_of(kind, count))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["short", "long"])
def test_many_random_operands(kind: str) -> None:
    for _ in range(10):
        check(kind, operands_of(kind, 15_000))


def test_all_pairs_of_8_bits() -> None:
    left, right = crossed(np.arange(256, dtype=np.uint64))
    operands = {
        unit: {"bits": left} if unit.startswith("sqrt") else {"dividend": left, "divisor": right}
        for unit in units("short").units
    }
    check("short", operands)


WORDS = st.integers(0, 2**64 - 1)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=8))
def test_any_operands(pairs: list[tuple[int, int]]) -> None:
    operands = {
        name: {
            field: np.array([pair[place] & (1 << width) - 1 for pair in pairs], np.uint64)
            for place, (field, width) in enumerate(_inputs(unit))
        }
        for name, unit in units("long").units.items()
    }
    check("long", operands)


def _inputs(unit: Iterative) -> list[tuple[str, int]]:
    if isinstance(unit, FloatSquareRoot):
        return [("bits", len(unit.i.payload))]
    return [(name, field.width) for name, field in unit.i.payload.shape()]


@pytest.mark.parametrize(("pauses", "stalls"), [(0.0, 0.0), (0.9, 0.0), (0.0, 0.9), (0.5, 0.5)])
@pytest.mark.parametrize("restarts", [0.0, 0.02], ids=["no_reset", "resets"])
def test_latency_stalls_and_resets(pauses: float, stalls: float, restarts: float) -> None:
    """Operands change in every cycle, also while they are not taken."""
    rng, cycles = fresh_rng(), 800
    i_valid, o_ready = rng.random(cycles) >= pauses, rng.random(cycles) >= stalls
    restart = rng.random(cycles) < restarts
    operands = operands_of("short", cycles)
    for columns in operands.values():
        order = rng.permutation(cycles)
        columns.update({field: part[order] for field, part in columns.items()})
    accepted = 0
    for name, seen in units("short").run(operands, i_valid, o_ready, restart).items():
        unit = units("short").units[name]
        accepted += check_protocol(unit, seen, restart, expected_of(name, operands[name]))
    assert accepted > 100


def test_integers_wait_until_they_are_taken() -> None:
    rng, cycles = fresh_rng(), 1_500
    i_valid, o_ready = rng.random(cycles) >= 0.2, rng.random(cycles) >= 0.7
    restart = rng.random(cycles) < 0.005
    operands = operands_of("long", cycles)
    accepted = 0
    for name, seen in units("long").run(operands, i_valid, o_ready, restart).items():
        unit = units("long").units[name]
        accepted += check_protocol(unit, seen, restart, expected_of(name, operands[name]))
    assert accepted > 100


@pytest.mark.parametrize(
    ("name", "latency"),
    [
        ("div_float32_by_1", 30),
        ("div_float32_by_3", 13),
        ("sqrt_float32_by_1", 29),
        ("sqrt_float32_by_3", 13),
        ("int_32_by_1", 33),
        ("int_32_by_3", 12),
    ],
)
def test_latency_in_cycles(name: str, latency: int) -> None:
    assert units("long").units[name].latency == latency


@pytest.mark.parametrize("kind", ["short", "long"])
def test_lint(kind: str) -> None:
    assert lint(convert(SideBySide(units(kind).units), "units"), "units") == []


@pytest.mark.parametrize("bits", [0, -1, "2", True, 1.0])
def test_bits_a_cycle_must_be_a_whole_number(bits: int) -> None:
    text = f"bits_per_cycle = {bits!r}: must be a whole number, at least 1"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        FloatDivider(FloatFormat(8, 23), bits)
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        FloatSquareRoot(FloatFormat(8, 23), bits)
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        IntegerDivider(8, bits)


@pytest.mark.parametrize("width", [0, -1, "2", True, 1.0])
def test_width_must_be_a_whole_number(width: int) -> None:
    text = f"width = {width!r}: must be a whole number, at least 1"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        IntegerDivider(width)


@pytest.mark.parametrize("sizes", [(1, 2), (12, 2), (4, 0), (8, 53)])
def test_formats_out_of_range_are_refused(sizes: tuple[int, int]) -> None:
    format = FloatFormat(*sizes)
    text = f"{format}: exponent must have 2 to 11 bits, fraction 1 to 52"
    for unit in (FloatDivider, FloatSquareRoot):
        with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
            unit(format)
