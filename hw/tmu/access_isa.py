"""What an access program is made of: layers, traversal units, streams, and events.

A layer is one loop of a nest, inside of the layer before it. A traversal unit iterates over a fiber
of one operand; its streams have a value an iteration. A layer is ahead of the layers inside of it,
and of what the queues have room for, as far as its streams' queues go.

A stream's operands are known when the iteration begins: immediates, the unit's induction variable,
earlier ``ALU`` streams of the unit, and streams of the layer around it, from memory too. What needs
a loaded value of its own layer goes into a layer of one iteration inside of it. Values that are
only addresses need no queue.

Events put words into the data queue and tokens into the control queue, in the order in which the
nest, run one iteration after the other, comes by: ``BEGIN`` and ``END`` of a layer's loop, once for
each iteration around it; ``ITERATION`` before the loop inside of it begins; ``TOGGLE``, before
that, where a stream differs from what it was an iteration of the layer ago, and in its first one.

Source: Ember, section IV (``loop_tr``, ``mem_str``, ``alu_str``, ``enq_op``, ``callback``),
section VII.D (store streams, cache levels), appendix D (accumulation streams).
"""

from __future__ import annotations

from amaranth.hdl import unsigned
from amaranth.lib import data
from gnarl.hw.lib.encoding.enum import EnumType, IntEnum
from gnarl.hw.tmu.config import TmuConfig


class Mode(IntEnum, metaclass=EnumType, shape=3):
    """How a layer steps its units.

    ``OFF``: the layer and all inside of it are not in use. ``SINGLE``: unit 0 alone. ``LOCKSTEP``:
    a vector a step, lane k being ``stride`` x k behind unit 0, whose streams all lanes have; lanes
    beyond the end give 0. ``CONJUNCTIVE``, ``DISJUNCTIVE``: units 0 to ``units`` - 1 merge their
    fibers by stream 1, their coordinates, which ascend: an iteration for each that all units have,
    or that any has; the others give 0. Operands of streams behind may be the unit's coordinate,
    from memory too; itself, it is neither divided nor an address. A stream's queue is at the same
    row in all units, as unit 0's row has it even if unit 0 has no such stream.
    """

    OFF = 0
    SINGLE = 1
    LOCKSTEP = 2
    CONJUNCTIVE = 3
    DISJUNCTIVE = 4


MERGES = (Mode.CONJUNCTIVE, Mode.DISJUNCTIVE)
"""Modes in which units merge their fibers."""


class StreamKind(IntEnum, metaclass=EnumType, shape=3):
    """What the value of a stream is. Stream 0 of every unit is its ``INDUCTION`` variable.

    ``MEMORY``: the word at ``base`` + index, where index = a x ``scale`` + b is below ``length``.
    ``ALU``: ``a operation b``. ``FORWARD``: a. ``ADDRESS``: where ``MEMORY`` would read, ``base`` +
    index; in lockstep lane 0's in all lanes, in use or not, and its index + the lanes in use - 1 is
    below ``length``: so a ``STORE`` of a vector from there on keeps inside of the array. With a
    ``length`` of 2^32 - 1, any index will do.
    """

    NONE = 0
    INDUCTION = 1
    MEMORY = 2
    ALU = 3
    FORWARD = 4
    ADDRESS = 5


UNBOUNDED = 0xFFFF_FFFF
"""A ``length`` for any index of an ``ADDRESS``."""


class AluOperation(IntEnum, metaclass=EnumType, shape=3):
    """On integers of 32 bits that wrap, unsigned in division and in a shift to the right."""

    ADD = 0
    SUB = 1
    MUL = 2
    DIV = 3
    MOD = 4
    SHIFT_LEFT = 5
    SHIFT_RIGHT = 6


class Source(IntEnum, metaclass=EnumType, shape=2):
    """``IMMEDIATE``: the row's own. ``OWN``: stream ``stream`` of the unit. ``PARENT``: that of
    unit ``lane`` of the layer around."""

    IMMEDIATE = 0
    OWN = 1
    PARENT = 2


class Event(IntEnum, metaclass=EnumType, shape=2):
    """What happens to a layer."""

    BEGIN = 0
    TOGGLE = 1
    ITERATION = 2
    END = 3


class EventKind(IntEnum, metaclass=EnumType, shape=3):
    """What a step of an event does.

    ``WORD``: puts the word of stream ``stream`` of unit ``lane`` of layer ``layer`` into the data
    queue, as it is in that layer's current iteration. ``VECTOR``: that of all lanes, 0 in those
    that are not in use. ``MASK``: the bits of the lanes in use, as a word. ``TOKEN``: puts
    ``token`` into the control queue, behind all words before it. ``STORE``: writes what ``VECTOR``
    would give, without lanes that are not in use, to memory, past the queues; to words from the one
    on whose address stream ``address`` of the layer's unit 0 is.
    """

    WORD = 0
    VECTOR = 1
    MASK = 2
    TOKEN = 3
    STORE = 4


OPERAND = data.StructLayout(
    {"source": Source.as_shape(), "lane": unsigned(4), "stream": unsigned(3)}
)

STEPS = data.StructLayout({"first": unsigned(8), "count": unsigned(8)})
"""Steps of an event: rows of ``EVENT`` from ``first`` on."""

LAYER = data.StructLayout(
    {
        "mode": Mode.as_shape(),
        "units": unsigned(5),
        "slots": unsigned(13),
        "toggle": unsigned(3),
        "padding": unsigned(8),
        "steps": data.ArrayLayout(STEPS, len(Event)),
    }
)
"""A layer. ``slots``: iterations that the queues of its streams hold. ``toggle``: the stream whose
changes are ``TOGGLE`` events. ``steps``: of each ``Event``."""

UNIT = data.StructLayout(
    {
        "lower": OPERAND,
        "upper": OPERAND,
        "stride": unsigned(12),
        "accumulates": unsigned(1),
        "ordered": unsigned(1),
        "lower_immediate": unsigned(32),
        "upper_immediate": unsigned(32),
    }
)
"""A traversal unit: from ``lower`` by ``stride`` while below ``upper``, both signed integers,
which are immediates or the parent's. ``accumulates``: both count from where the unit's last fiber
ended, in this run of the loop around, or from 0: lengths become bounds. ``ordered``: an ``upper``
below ``lower`` is an error, as in offsets that decrease and lengths below 0; else the fiber is
empty."""

STREAM = data.StructLayout(
    {
        "kind": StreamKind.as_shape(),
        "operation": AluOperation.as_shape(),
        "a": OPERAND,
        "b": OPERAND,
        "queued": unsigned(1),
        "cached": unsigned(1),
        "temporal": unsigned(1),
        "padding": unsigned(5),
        "queue": unsigned(32),
        "immediate": unsigned(32),
        "scale": unsigned(32),
        "base": unsigned(32),
        "length": unsigned(32),
    }
)
"""A stream. ``queued``: others read it, from row ``queue`` of its lane's store on, ``slots`` rows.
``cached``: reads through the L2; ``temporal``: and stays there. ``immediate``: of both operands."""

EVENT = data.StructLayout(
    {
        "kind": EventKind.as_shape(),
        "layer": unsigned(3),
        "lane": unsigned(4),
        "stream": unsigned(3),
        "address": unsigned(3),
        "padding": unsigned(16),
        "token": unsigned(32),
    }
)
"""A step of an event."""

EVENT_STEPS = 32
"""Rows of ``EVENT`` of a core."""


def stream_row(config: TmuConfig, layer: int, lane: int, stream: int) -> int:
    """Place of a stream among all streams."""
    return (layer * config.lanes + lane) * config.streams + stream


def unit_row(config: TmuConfig, layer: int, lane: int) -> int:
    """Place of a unit among all units."""
    return layer * config.lanes + lane
