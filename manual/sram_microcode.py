"""Writes the table of costs of in-SRAM operations: ``python -m manual.sram_microcode``.

Cycles and rows come from the microcode itself; texts from the docstrings of
``hw/sram_compute/microinstruction.py`` and of the functions that write the microcode.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data

from gnarl.hw.sram_compute import microinstruction
from gnarl.hw.sram_compute.microcode.program import Microinstruction
from gnarl.hw.sram_compute.microcode.sequence import cycles
from gnarl.hw.sram_compute.operations import (
    CONVERTED_WIDTHS,
    FLOAT_OPERATIONS,
    INTEGER_OPERATIONS,
    Operation,
)
from gnarl.hw.sram_compute.rom import rom

PATH = Path(__file__).parents[1] / "docs" / "sram_microcode.md"

_WIDTHS = (4, 8, 16, 32)

_PUBLISHED = {
    "add": ("n", "n (Neural Cache)"),
    "multiply": ("n^2 + 5n - 2", "n² + 5n - 2 (Neural Cache)"),
    "divide_unsigned": ("3/2 n^2 + 11/2 n", "1.5n² + 5.5n (Neural Cache)"),
}

PIMEVAL = {"add": 685, "multiply": 1000, "divide": 1458}
"""Rows that PIMeval's bit-serial microcode writes, of float32."""

_IDEAS = """\
## What each idea gave

Cycles are of float32 unless it says otherwise, against the same microcode without the idea.

| operation | idea | saves |
| --- | --- | --- |
| all | a function of carry and predicate is put in their places as a sweep begins: no cycle sets \
them up | 1 a carry |
| all | a disjunction or conjunction of rows takes two rows a cycle | 15 of the leading zeros of a \
sum, 11 of a product's sticky bit |
| integer multiply | the row operation that writes the carry of an addition loads the \
multiplier's next bit | n - 1 |
| | low half: an addition is as long as what is left of the product | n(n - 1) / 2 |
| integer divide | non-restoring: the predicate says whether the one sweep of a step adds or \
subtracts | n² |
| | the remainder's rows move down by one a step, and the quotient takes those that it leaves: \
no shift | n² |
| | the dividend's bit is read where the step needs it | n |
| integer floor_divide | a signed dividend begins with its sign as the remainder: no magnitudes, \
and the quotient is rounded down as it comes about | 4n |
| add | one comparison of magnitudes finds what is larger and, in the predicate, if they differ: \
the sign of a zero | 31 |
| | alignment by predicated copies, a sweep for each bit of the distance; the carry gathers the \
sticky bit on the way | 15 |
| | "beyond" is added to the distance's bits as they are loaded: nothing is cleared | 24 |
| | a smaller number that is subnormal lacks a carry in the difference of exponents, which the \
hidden bit is | 1 |
| | normalisation stops where the exponent ends, comparing both bit by bit as the distance comes \
about (7 cycles): subnormal results need no path of their own | {subnormal} at worst |
| | a sum with round and sticky bit moves by two places at most: longer moves leave those rows \
out | 8 |
| | the hidden bit is added to the exponent with the carry of rounding, and rounding writes the \
result | 39 |
| multiply | rounding, the shift by one place and the copy to the result are one sweep | 55 |
| | the bias is 2^(e-1) - 1: a carry in, and the exponents' highest bits | 10 |
| | skips: operands that are NaN, subnormal ones, subnormal results, special ones | {multiply} |
| | a skip within that of subnormal operands, where they are zeros | {zeros} |
| divide | non-restoring, on rows that move down, as of integers | 2 x 624 |
| | the lowest bit of all remainders is the divisor's: a row less | 24 |
| | the last bit comes from a comparison, which writes none: quotient and remainder have 48 rows | \
2 rows |
| | skips: subnormal operands, their exponents, subnormal results, special ones | {divide} |
"""


def manual() -> str:
    """The page as Markdown."""
    parts = [
        "# Operations in SRAM arrays\n\nWritten by `python -m manual.sram_microcode` from "
        "`hw/sram_compute/`; a test compares. A bank has no arithmetic unit: every operation is a "
        "microprogram of row operations, which all bitlines take at once. The functions that write "
        "the microcode are in `hw/sram_compute/microcode/`; the sequencer's ROM, the model and "
        "this page all come from them.",
        f"## Microinstructions\n\n{_text(microinstruction)}\n\n"
        f"`SKIP_CYCLES` is {microinstruction.SKIP_CYCLES}.",
        _layout("MICROINSTRUCTION"),
        _layout("ROW"),
        _layout("COUNT"),
        _integers(),
        _floats(),
        _conversions(),
        _ideas(),
        _others(),
        _rows_of_rom(),
    ]
    return "\n\n".join(parts) + "\n"


def _ideas() -> str:
    float32 = FLOAT_OPERATIONS["float32"]
    multiply, divide = (_blocks(float32[name].program()) for name in ("multiply", "divide"))
    _, normalising, denormalising, _ = multiply
    operands, subnormal = map(_whole, (normalising, denormalising))
    (within,) = _blocks(normalising)
    return _IDEAS.rstrip().format(
        multiply=", ".join(str(_whole(each)) for each in multiply),
        divide=", ".join(str(_whole(each)) for each in divide),
        zeros=f"{_whole(within)} of the {operands}",
        subnormal=subnormal,
    )


Block = tuple[Microinstruction, ...]


def _blocks(program: Block) -> list[Block]:
    """Blocks that may be passed over, without those within them."""
    blocks, place = [], 0
    while place < len(program):
        each = program[place]
        if each.sweep is None:
            blocks.append(program[place + 1 : place + 1 + each.length])
        place += 1 + each.length
    return blocks


def _whole(block: Block) -> int:
    """Cycles of a block that is run."""
    return cycles((*block[:-1], replace(block[-1], is_last=True)), skips=False)


def _text(documented: Any) -> str:
    """A docstring as Markdown, without its first line, a paragraph a line."""
    blocks = (inspect.getdoc(documented) or "").split("\n\n")[1:]
    return "\n\n".join(" ".join(block.split()).replace("``", "`") for block in blocks)


def _layout(name: str) -> str:
    layout: data.StructLayout = getattr(microinstruction, name)
    rows = [
        f"| `{field}` | {layout[field].offset} | {_width(layout[field].shape)} |"
        for field in layout.members
    ]
    head = f"**{name}**, {layout.size} bits\n\n| field | first bit | bits |\n| --- | --- | --- |"
    return "\n".join([head, *rows])


def _width(shape: Any) -> str:
    if isinstance(shape, data.StructLayout):
        kind = "ROW" if shape == microinstruction.ROW else "COUNT"
        return f"{shape.size}: {kind}"
    cast = Shape.cast(shape)
    return f"{cast.width}, signed" if cast.signed else f"{cast.width}"


def _integers() -> str:
    rows = [
        "| operation | cycles | n = 8 | 16 | 32 | scratch rows | published | what it does |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, operation in INTEGER_OPERATIONS.items():
        costs = [str(operation.cycles(n, skips=False)) for n in (8, 16, 32)]
        scratch = _polynomial(f"{name}: scratch rows", operation.scratch_rows)
        published = _PUBLISHED.get(name, ("", ""))[1]
        cells = [f"`{name}`", formula(operation), *costs, scratch, published, _says(operation)]
        rows.append("| " + " | ".join(cells) + " |")
    return (
        "## Integers\n\nIntegers have n = 1 to 32 bits, a parameter of the command. They are "
        "signed where there is an `_unsigned` operation beside it. Cycles are the same for all "
        "data. A shift by a constant is a move and what is shifted in, a constant is `clear` and "
        "`set` of runs of its bits: n cycles.\n\n" + "\n".join(rows)
    )


def formula(operation: Operation) -> str:
    """Cycles of an integer operation, a polynomial in n; ``ValueError`` if they are none."""
    return _polynomial(f"{operation.name}: cycles", partial(operation.cycles, skips=False))


def _polynomial(name: str, of: Callable[[int], int]) -> str:
    """``of`` n; ``ValueError`` that begins with ``name`` if it is no polynomial."""
    values = [of(n) for n in _WIDTHS]
    (x0, x1, x2, last), (y0, y1, y2, expected) = _WIDTHS, values
    slope = Fraction(y1 - y0, x1 - x0)
    square = (Fraction(y2 - y1, x2 - x1) - slope) / (x2 - x0)
    linear = slope - square * (x0 + x1)
    constant = y0 - linear * x0 - square * x0 * x0
    if square * last * last + linear * last + constant != expected:
        raise ValueError(f"{name} {values} are no polynomial of degree 2")
    terms = ((square, "n²"), (linear, "n"), (constant, ""))
    written = " + ".join(
        f"{_number(factor) if factor != 1 or not power else ''}{power}"
        for factor, power in terms
        if factor
    )
    return written.replace("+ -", "- ") or "0"


def _number(value: Fraction) -> str:
    return str(float(value)) if value.denominator > 1 else str(value.numerator)


def _says(operation: Operation) -> str:
    """The first paragraph of the docstring of what writes an operation."""
    write: Any = operation.write
    function = write.func if isinstance(write, partial) else write
    text = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
    return text.replace("``", "`").replace("|A|", "the magnitude of A")


def _floats() -> str:
    rows = [
        "| operation | " + " | ".join(FLOAT_OPERATIONS) + " | scratch rows |",
        "| --- |" + " --- |" * (len(FLOAT_OPERATIONS) + 1),
    ]
    for name in FLOAT_OPERATIONS["float32"]:
        if not name.startswith(("from_", "to_")):
            kinds = [each[name] for each in FLOAT_OPERATIONS.values()]
            scratch = ", ".join(str(each.scratch_rows()) for each in kinds)
            cells = [f"`{name}`", *map(_both, kinds), scratch]
            rows.append("| " + " | ".join(cells) + " |")
    return (
        "## Floating point\n\nCycles with all skips passing over their blocks, as of normal "
        "operands and results, and with none, which is the most, and what a bank without skips "
        "always takes. Results have the bits of the units in `hw/lib`. `move` and `select` are "
        "those of integers; a product that is added is rounded twice. `add`, `subtract`, "
        "`multiply`, `maximum`, `minimum` and operations of one operand may replace an operand; of "
        "`divide`, D overlaps none. Some scratch of float32 is in D.\n\n" + "\n".join(rows)
    )


def _both(operation: Operation) -> str:
    return f"{operation.cycles(skips=True)} / {operation.cycles(skips=False)}"


def _conversions() -> str:
    rows = [
        "| conversion | " + " | ".join(FLOAT_OPERATIONS) + " |",
        "| --- |" + " --- |" * len(FLOAT_OPERATIONS),
    ]
    for width in CONVERTED_WIDTHS:
        for prefix in ("from_int", "from_uint", "to_int", "to_uint"):
            name = f"{prefix}{width}"
            cells = [f"`{name}`", *(_both(each[name]) for each in FLOAT_OPERATIONS.values())]
            rows.append("| " + " | ".join(cells) + " |")
    return (
        "## Conversions\n\nAs above. To floating point: to nearest, ties to even, infinite what is "
        "too large. To integers: towards 0, what is beyond them becomes the greatest or the least "
        "one, NaN 0. D does not overlap A.\n\n" + "\n".join(rows)
    )


def _others() -> str:
    rows = ["| float32 | here, normal / any data | PIMeval, rows written |", "| --- | --- | --- |"]
    for name, written in PIMEVAL.items():
        operation = FLOAT_OPERATIONS["float32"][name]
        rows.append(f"| `{name}` | {_both(operation)} | {written:,} |")
    return (
        "## Beside others\n\nPIMeval's bit-serial microcode of float32 writes this many rows; a "
        "row operation here writes one at most. Neural Cache's figures of integers are in the "
        "table above.\n\n" + "\n".join(rows)
    )


def _rows_of_rom() -> str:
    rows = ["| operations | microinstructions |", "| --- | --- |"]
    rows.append(f"| integers | {len(rom(INTEGER_OPERATIONS.values()).words)} |")
    for format, operations in FLOAT_OPERATIONS.items():
        kept = [each for name, each in operations.items() if not name.startswith(("from", "to_"))]
        with_conversions = len(rom(operations.values()).words)
        rows.append(f"| {format} | {len(rom(kept).words)}; {with_conversions} with conversions |")
    return "## Rows of ROM\n\n" + "\n".join(rows)


def main() -> None:
    PATH.write_text(manual(), encoding="utf-8")


if __name__ == "__main__":
    main()
