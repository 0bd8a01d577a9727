"""Commands of the system, as programs in main memory have them. Source: Infinity Stream, 4.2, 5.2.

A program is a sequence of commands, one behind the other; each takes one or more units of 16 bytes,
so a line of memory has four units. It begins at the first unit of the line that the host names. The
lowest bits of a command are its ``Opcode``. Fields are as wide in all configurations; what is
beyond the configuration's arrays is an error, ``OPERAND``.

Rows are wordlines of an array. A *tile* is what lies in an array: tile t in array t % ``arrays`` of
bank t // ``arrays``. A pattern is the set of places ``start`` + the sum of ``strides`` x 0 …
``counts`` over its three levels, so ``counts`` are one less than the places of their level. Places
of bitlines that are beyond the last one are left out.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Shape, unsigned
from amaranth.lib import data
from gnarl.hw.lib.encoding.enum import EnumType, IntEnum
from gnarl.hw.lib.encoding.execute_isa import INTEGERS
from gnarl.hw.lib.encoding.execute_isa import Opcode as ExecuteOpcode
from gnarl.hw.lib.lines.line_size import LINE_WORDS
from gnarl.hw.sram_compute.microinstruction import Base
from gnarl.hw.sram_compute.pattern import LEVELS

UNIT_WORDS = 4
"""Words of a unit."""

UNIT_BITS = 32 * UNIT_WORDS

LINE_UNITS = LINE_WORDS // UNIT_WORDS
"""Units of a line of memory."""

WIDTH_BITS = 6
"""Bits of n: operands have at most 32 bits."""

DIMENSIONS = 3
"""Dimensions of arrays in memory."""

STRIP = 32
"""Elements that a stream engine works on at a time, and neighbouring words of a bank."""

STREAMS = 16
"""Entries of the stream table."""

SLOTS = 32
"""Operations of the stream engines' program."""

REGISTERS = 16
"""Registers of a stream engine: ``STRIP`` words each."""

WORD_BITS = 28
"""Bits of the number of a word among all banks."""

_ROW = unsigned(9)
_REGISTER = unsigned(4)
_WIDTH = unsigned(WIDTH_BITS)
_BITLINE = unsigned(9)
_TILE = unsigned(14)
_LINE = unsigned(20)
_MARGIN = unsigned(17)


class Opcode(IntEnum, metaclass=EnumType, shape=4):
    """What a command does.

    ``END``: the program is over when all that is before it is. If it ``keeps``, the next run finds
    rows, carries and predicates as they are.

    ``COMPUTE``: all bitlines of all tiles run the microprogram at ``entry`` of the configuration's
    ROM at width ``n`` (0 where the width is no parameter), with the row of each base.

    ``MOVE``: within tiles. On ``bitlines`` of ``tiles``, the ``n`` rows from ``d`` on become those
    from ``a`` on, ``distance`` bitlines up, around the end: bitline b takes what b - ``distance``
    has. The rows are the same ones, or others altogether.

    ``FILL``: on ``bitlines`` of ``tiles``, the ``n`` rows from ``d`` on become the bits of
    ``value``, the lowest first.

    ``SHIFT``: between tiles. As ``MOVE``, but tile t of ``tiles`` takes the rows of tile t -
    ``between``, modulo all tiles. ``tiles`` and ``bitlines`` are those that change. The rows are
    others altogether. A bank's arrays send whole rows, one after the other; or if it is ``packed``,
    all at once, ``tree_bits`` of the bits that change in a cycle; then tiles are fewer than a
    bank's arrays apart, up or down.

    ``BROADCAST``: from tiles to several. The rows from ``a`` on of each tile s of ``sources`` go,
    as in ``MOVE``, to those from ``d`` on of all tiles s + c, modulo all tiles, for the places c of
    ``copies``. Sources follow each other in ascending order, but where all copies of one are in
    one bank, those that are the same array of other banks go with it. The rows are others
    altogether.

    ``LAYOUT``: entry ``layout`` of the layout override table becomes what the command says.

    ``LOAD``: an array from memory, as its ``layout`` has it, to ``n`` rows from ``row`` on: the low
    ``n`` bits of each element; if it is ``hollow``, without lines that lie between margins, as a
    ``STORE`` has them, with all their words. ``STORE``: back, all of it but for margins; above the
    ``n`` bits, elements have copies of the highest one if ``is_signed``, else 0.

    ``SYNC``: waits until all that ``SHIFT`` and ``BROADCAST`` have sent has arrived. Between one of
    them and a command that is neither of them nor ``LAYOUT`` there must be a ``SYNC``: else the
    error is ``UNSYNCED``.

    ``CORE``: the vector core runs the program that begins at its instruction ``first``, from which
    the addresses in it are counted, until it halts.

    ``COPY``: lines between memory and the words of banks, as they are, while commands of stream
    engines go on: of what is still to be copied, engines access nothing that it changes, and change
    nothing that it reads. ``STREAM``: entry ``stream``
    of the stream table becomes what the command says. ``OPERATION``: so does operation ``slot`` of
    the stream engines' program. ``NEAR``: stream engines run that program on all elements.
    """

    END = 1
    COMPUTE = 2
    MOVE = 3
    FILL = 4
    SHIFT = 5
    BROADCAST = 6
    LAYOUT = 7
    LOAD = 8
    STORE = 9
    SYNC = 10
    CORE = 11
    COPY = 12
    STREAM = 13
    OPERATION = 14
    NEAR = 15


class Second(IntEnum, metaclass=EnumType, shape=2):
    """What operand b of an operation is: a register, the immediate, or x."""

    REGISTER = 0
    IMMEDIATE = 1
    X = 2


class When(IntEnum):
    """Bits of ``when``: only in the first or last group of strips, only for the first or last y."""

    FIRST_X = 0
    LAST_X = 1
    FIRST_Y = 2
    LAST_Y = 3


NEAR_OPERATIONS = (
    *INTEGERS,
    ExecuteOpcode.MUL,
    ExecuteOpcode.TO_FLOAT,
    ExecuteOpcode.FADD,
    ExecuteOpcode.FSUB,
    ExecuteOpcode.FMUL,
    ExecuteOpcode.FMIN,
    ExecuteOpcode.FMAX,
    ExecuteOpcode.FDIV,
    ExecuteOpcode.FLESS,
    ExecuteOpcode.FLESS_EQUAL,
    ExecuteOpcode.FEQUAL,
    ExecuteOpcode.STORE,
)
"""Operations of stream engines; they mean what they do in the execute unit."""


def pattern_fields(name: str, place: Shape) -> dict[str, Any]:
    """The fields of a pattern in a command."""
    numbers = data.ArrayLayout(place, LEVELS)
    return {f"{name}_start": place, f"{name}_strides": numbers, f"{name}_counts": numbers}


def _command(**fields: Any) -> data.StructLayout:
    return data.StructLayout({"opcode": Opcode.as_shape(), **fields})


_BITLINES = pattern_fields("bitlines", _BITLINE)

_TILES = pattern_fields("tiles", _TILE)

_ROWS = {"a": _ROW, "d": _ROW, "n": _WIDTH, "distance": _BITLINE, **_BITLINES}

COMPUTE = _command(entry=unsigned(14), n=_WIDTH, bases=data.ArrayLayout(_ROW, len(Base)))

MOVE = _command(**_ROWS, **_TILES)

FILL = _command(d=_ROW, n=_WIDTH, value=unsigned(32), **_BITLINES, **_TILES)

SHIFT = _command(**_ROWS, **_TILES, between=_TILE, packed=unsigned(1))

BROADCAST = _command(**_ROWS, **pattern_fields("sources", _TILE), **pattern_fields("copies", _TILE))

LAYOUT = _command(
    layout=unsigned(4),
    element=unsigned(2),
    base=_LINE,
    sizes=data.ArrayLayout(_LINE, DIMENSIONS),
    line_strides=data.ArrayLayout(_LINE, DIMENSIONS - 1),
    tile=data.ArrayLayout(unsigned(4), DIMENSIONS),
    first_tile=_TILE,
    tile_strides=data.ArrayLayout(_TILE, DIMENSIONS - 1),
    chunked=unsigned(2),
    chunk=_LINE,
    chunk_lines=_LINE,
    chunk_tiles=_TILE,
)
"""Where an array is in memory, and in tiles, and in which order its lines are transferred. Source:
Infinity Stream, table 1; the order is this project's.

layout
    the entry of the table.
element
    log2 of the bytes of an element: 0 to 2.
base
    the first line.
sizes
    in dimension 0 in lines: a row of the array is whole lines. In dimensions 1 and 2 in elements.
    At least 1.
line_strides
    lines from one element to the next in dimensions 1 and 2: so the array may be part of a larger
    one.
tile
    log2 of a tile's elements in each dimension, together the bitlines of an array. In a tile,
    dimension 0 has the neighbouring bitlines, dimension 1 comes next.
first_tile
    the tile whose bitline 0 has element (0, 0, 0).
tile_strides
    tiles from one to the next in dimensions 1 and 2; in dimension 0 they are neighbours. No tile
    of the array is beyond the last one.
chunked, chunk
    dimension ``chunked`` is cut into chunks of ``chunk`` of its ``sizes``, the last one the rest;
    0 for one chunk. Neighbouring lines in the order of transfers are those at the same place of
    each chunk: so they may go to as many banks, which transpose them at the same time.
chunk_lines, chunk_tiles
    lines and tiles from a chunk to the next. A chunk begins at the first place of a tile.
"""

_MARGINS = {name: data.ArrayLayout(_MARGIN, DIMENSIONS) for name in ("before", "after")}

LOAD = _command(layout=unsigned(4), row=_ROW, n=_WIDTH, hollow=unsigned(1), **_MARGINS)

STORE = _command(layout=unsigned(4), row=_ROW, n=_WIDTH, is_signed=unsigned(1), **_MARGINS)
"""``before``, ``after``: so much of the array at the beginning and end of each dimension stays as
it is in memory: of dimension 0 words, of others what ``sizes`` counts."""

END = _command(keeps=unsigned(1))

SYNC = _command()

CORE = _command(first=unsigned(16))

COPY = _command(is_store=unsigned(1), line=_LINE, words=unsigned(24), lines=_LINE)
"""``lines`` lines of memory from ``line`` on, and of the words of banks from line ``words`` on: to
memory if ``is_store``, else to the banks. Words are counted over all banks: word w is in bank
w // ``STRIP`` modulo the number of banks."""

COUNT_BITS, SPAN_BITS, SCALE_BITS = 20, 16, 16
"""Bits of a loop's iterations in a dimension, of strips in a bank, of words for each index."""

STREAM = _command(
    stream=unsigned(4),
    is_indirect=unsigned(1),
    is_transposed=unsigned(1),
    row=_ROW,
    base=unsigned(WORD_BITS),
    strides=data.ArrayLayout(unsigned(WORD_BITS), DIMENSIONS),
    length=unsigned(WORD_BITS),
    scale=unsigned(SCALE_BITS),
)
"""Where the elements of a stream are. Source: Infinity Stream, sections 3.1 and 5.1.

base, strides
    element (x, y, z) is word ``base`` + the sum of strides x coordinates, modulo 2^``WORD_BITS``.
is_indirect, length, scale
    to that is added ``scale`` x an index, a number below ``length`` from a register.
is_transposed, row
    numbers are not those of words, but of bitlines over all tiles: step t of a strip is row ``row``
    + t of the 32 bitlines that the element's is one of.
"""

OPERATION = _command(
    slot=unsigned(5),
    operation=ExecuteOpcode.as_shape(),
    d=_REGISTER,
    a=_REGISTER,
    b=_REGISTER,
    c=_REGISTER,
    offset=unsigned(5),
    reads=unsigned(1),
    stream=unsigned(4),
    a_is_turned=unsigned(1),
    d_is_turned=unsigned(1),
    b_source=Second.as_shape(),
    is_whole=unsigned(1),
    when=unsigned(len(When)),
    immediate=unsigned(32),
)
"""What is done with a strip, ``STRIP`` elements, of each bank: in step t with element t.

operation
    one of ``NEAR_OPERATIONS``, of operands a, b and c. ``STORE``: b goes to ``stream``; ``SELECT``:
    a where c is not 0, else b; a of ``FDIV`` is a register.
d, a, b, c
    registers, each of a strip of words. Elements are done one after the other.
offset
    step t takes element t + ``offset`` of register a, modulo ``STRIP``; at most ``STRIP`` / 2.
reads
    operand a is the element of ``stream``; not of a ``STORE``. Register a has the index where a
    stream is indirect.
a_is_turned, d_is_turned
    words go to the transposer, word t in step t; operand a, or what ``STORE`` writes, is bit t of
    all its words. ``STORE`` has no ``d_is_turned``.
b_source, immediate
    what operand b is.
is_whole
    elements change that are none of the loop's, too.
when
    the ``When`` bits without which it is left out.
"""

NEAR = _command(
    last=unsigned(5),
    first=unsigned(5),
    counts=data.ArrayLayout(unsigned(COUNT_BITS), DIMENSIONS),
    owner=unsigned(4),
    span=unsigned(SPAN_BITS),
    is_final=unsigned(1),
    first_z=unsigned(COUNT_BITS),
)
"""For each z, for each group of strips along x, for each y: operations 0 to ``last``.

counts
    of x, y and z; at least 1.
first, first_z
    the first x, and the first z.
owner
    without a ``span``, strips go around the banks, the first to the one that has the first element
    of this stream for y = 0.
span
    strips that lie one behind the other in a bank, if not 0.
is_final
    whether it finishes sums that arrays have begun: its cycles are counted for themselves.
"""

COMMANDS: dict[Opcode, data.StructLayout] = {
    Opcode.END: END,
    Opcode.COMPUTE: COMPUTE,
    Opcode.MOVE: MOVE,
    Opcode.FILL: FILL,
    Opcode.SHIFT: SHIFT,
    Opcode.BROADCAST: BROADCAST,
    Opcode.LAYOUT: LAYOUT,
    Opcode.LOAD: LOAD,
    Opcode.STORE: STORE,
    Opcode.SYNC: SYNC,
    Opcode.CORE: CORE,
    Opcode.COPY: COPY,
    Opcode.STREAM: STREAM,
    Opcode.OPERATION: OPERATION,
    Opcode.NEAR: NEAR,
}
"""The layout of each command."""

NEAR_COMMANDS = (Opcode.COPY, Opcode.STREAM, Opcode.OPERATION, Opcode.NEAR)
"""Commands of configurations with stream engines."""

UNITS = {opcode: -(-layout.size // UNIT_BITS) for opcode, layout in COMMANDS.items()}
"""Units of each command."""

MOST_UNITS = max(UNITS.values())
