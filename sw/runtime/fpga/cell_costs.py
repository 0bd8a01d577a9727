"""What Yosys's word-level cells cost on an ECP5.

No cell is mapped by itself, for ABC packs neighbours into one look-up table of four inputs. The
look-up tables that a bit costs here are those that fit best, by least squares, what Yosys and ABC
made of the modules of five machines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from gnarl.sw.runtime.fpga.rtlil import Bit, Cell

_MULTIPLEXED = 0.92  # one of two signals
_GATED = 0.33  # a signal or a constant
_CASE = 0.63  # one more of many signals
_GATE = 0.5  # AND, OR, XOR of two signals
_JOINED = 0.55  # one more signal in an AND or OR of many
_COMPARED = 0.97  # equality of two signals
_MATCHED = 0.11  # equality of a signal and a constant
_SHIFTED = 1.2  # in each stage of a shifter
_DECODED = 0.9  # a shifted constant
_ADDED = 0.5  # an adder without a carry chain
_SAVED = 0.9  # one more number in a sum of three or more

_CARRY_CHAIN = 5  # bits, from which on Yosys makes one


def ecp5_cells(cells: Iterable[Cell]) -> dict[str, float]:
    """The cells of ECP5 that Yosys's cells become, and the instances of modules, by type."""
    number: dict[str, float] = defaultdict(float)
    for cell in cells:
        if not cell.kind.startswith("$"):
            number[cell.kind] += 1
        elif "dff" in cell.kind:
            number["TRELLIS_FF"] += cell.number("WIDTH")
        elif cell.kind in ("$alu", "$macc_v2"):
            width = cell.number("Y_WIDTH")
            if width >= _CARRY_CHAIN:
                number["CCU2C"] += (width + 1) // 2
            else:
                number["LUT4"] += _ADDED * width
            if cell.kind == "$macc_v2":
                number["LUT4"] += _SAVED * width * max(0, cell.number("NADDENDS") - 2)
        elif cell.kind in _LUTS:
            number["LUT4"] += _LUTS[cell.kind](cell)
    return number


def _multiplexer(cell: Cell) -> float:
    if not _signals(cell.bits("S")):
        return 0
    pairs = {(a, b) for a, b in zip(cell.bits("A"), cell.bits("B"), strict=True) if a != b}
    pairs = {pair for pair in pairs if "x" not in pair}
    both = sum(_signals(pair) == 2 for pair in pairs)
    return _MULTIPLEXED * both + _GATED * sum(_signals(pair) == 1 for pair in pairs)


def _cases(cell: Cell) -> float:
    default, cases = cell.bits("A"), cell.bits("B")
    bits = {(first, *cases[place :: len(default)]) for place, first in enumerate(default)}
    return _CASE * sum(case not in ("0", "x") for bit in bits for case in bit[1:])


def _gate(cell: Cell) -> float:
    pairs = zip(cell.bits("A"), cell.bits("B"), strict=False)
    return _GATE * sum(_signals(pair) == 2 for pair in set(pairs))


def _join(cell: Cell) -> float:
    joined = {bit for port in ("A", "B") if port in cell.ports for bit in cell.bits(port)}
    return _JOINED * max(0, _signals(joined) - 1)


def _comparison(cell: Cell) -> float:
    left, right = cell.bits("A"), cell.bits("B")
    longest = max(len(left), len(right))
    left, right = (bits + ["0"] * (longest - len(bits)) for bits in (left, right))
    signals = [_signals(pair) for pair in zip(left, right, strict=True)]
    return _COMPARED * signals.count(2) + _MATCHED * signals.count(1)


def _shifter(cell: Cell) -> float:
    width = cell.number("Y_WIDTH")
    if not _signals(cell.bits("A")):
        return _DECODED * width
    return _SHIFTED * width * _signals(cell.bits("B"))


def _indexed(cell: Cell) -> float:
    """A word of an array."""
    return _MULTIPLEXED * cell.number("WIDTH") * (2 ** cell.number("S_WIDTH") - 1)


def _signals(bits: Iterable[Bit]) -> int:
    """How many of the bits are not constant."""
    return sum(isinstance(bit, tuple) for bit in bits)


_LUTS: Mapping[str, Callable[[Cell], float]] = MappingProxyType(
    {
        "$mux": _multiplexer,
        "$pmux": _cases,
        "$bmux": _indexed,
        **dict.fromkeys(("$and", "$or", "$xor", "$xnor"), _gate),
        **dict.fromkeys(("$reduce_and", "$reduce_or", "$reduce_bool", "$logic_not"), _join),
        **dict.fromkeys(("$reduce_xor", "$reduce_xnor", "$logic_and", "$logic_or"), _join),
        **dict.fromkeys(("$eq", "$ne", "$eqx", "$nex"), _comparison),
        **dict.fromkeys(("$shl", "$shr", "$sshl", "$sshr", "$shift", "$shiftx"), _shifter),
    }
)
