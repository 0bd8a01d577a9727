"""Instructions of the execute unit.

All instructions have one layout. An operand is a register, what the head of the data queue holds,
or the immediate; vector instructions work on all lanes at once, and take scalar operands in every
lane. Integers are two's complement of 32 bits and wrap; floating point is float32 as
``gnarl.hw.lib.arithmetic`` has it. Addresses, counts of ``LOOP``, ``FIRST_LANES`` and ``LANES``,
and what branches compare are scalars whatever ``vector`` says: ``REGISTER`` there is a scalar
register, and ``DEQUEUE`` takes one word. Instructions mean what they do one after the other; a unit
may overlap them. Registers are 0 at the start of a run, except for mask register 0, which has all
lanes. Source: Ember, sections IV and VI.D.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import signed, unsigned
from amaranth.lib import data
from gnarl.hw.lib.encoding.bit_fields import bit_fields, packed, unpacked
from gnarl.hw.lib.encoding.enum import EnumType, IntEnum

SCALAR_REGISTERS = 32
"""All 0 at the start of a run."""
VECTOR_REGISTERS = 32
"""All 0 at the start of a run."""
MASK_REGISTERS = 4
"""Mask register 0 has all lanes set, and is never written."""

ALL_LANES = 0
"""The mask register to name where no lane is left out."""

LOOP_DEPTH = 2
"""Hardware loops that nest."""

FLOAT_STAGES = 4
"""Pipeline registers of float units, in cores that compilers make programs for."""


class Opcode(IntEnum, metaclass=EnumType, shape=6):
    """What an instruction does with its operands a, b, c.

    Control
        ``HALT``: the run ends once all stores have landed.
        ``JUMP``: to ``target``.
        ``JUMP_TOKEN``: waits for a token, takes it, and jumps to the instruction it names.
        ``BRANCH_EQ``, ``_NE``, ``_LT``, ``_GE``: to ``target`` where a and b, scalars, compare so
        as signed integers; neither is the immediate.
        ``LOOP``: runs the instructions behind it, up to the one before ``target``, a times, signed;
        goes on at ``target`` where a < 1; a is not the immediate. At most ``LOOP_DEPTH`` loops
        nest, ``target`` lies behind the next instruction and inside of the loop around, and the
        last instruction of a body neither jumps nor is the last of an inner body. A jump out of a
        body ends its loop.
    Integers
        ``ADD`` to ``MAX``: a with b; shifts by b modulo 32; ``SHIFT_RIGHT`` fills with the sign.
        ``LESS``: 1 where a < b, else 0.
        ``TO_FLOAT``: a, rounded to nearest even.
    Floating point
        ``FADD`` to ``FMAX``: a with b; ``FMUL_ADD``: a x b, rounded, + c, rounded.
        ``FABS``: a without its sign.   ``FSQRT``: of a.   ``FDIV``: a / b, correctly rounded.
    Comparison
        ``FLESS``, ``FLESS_EQUAL``, ``FEQUAL``: of a and b; vectors write mask register ``dst``,
        scalars write 1 or 0 into scalar register ``dst``. False with a NaN.
    Masks
        ``FIRST_LANES``: mask register ``dst`` has the lanes below a, a scalar.
        ``LANES``: mask register ``dst`` has the lanes of the bits of a, a scalar.
        ``SELECT``: a in the lanes of ``mask``, b in the others; scalars: a where c is not 0.
    Between lanes
        ``REDUCE_ADD``, ``REDUCE_MAX``, ``REDUCE_MIN``: scalar ``dst`` from vector a, floating
        point, by a tree: lane i with lane i + lanes / 2, then halves again; lanes outside ``mask``
        count as +0, -infinity, +infinity.
        ``EXTRACT``: scalar ``dst`` is the lane ``immediate``, modulo their number, of vector a.
    Memory
        ``LOAD``, ``STORE``: ``dst`` from, c to the word at address a + ``offset``, vectors to and
        from as many words from there on as there are lanes, those of ``mask`` alone. Then scalar
        register a becomes a + ``increment``, which is 0 where a is no register; a scalar ``LOAD``
        into register a itself keeps what was loaded. Loads give 0 in other lanes.
        ``PREFETCH``: brings the line of that address into the cache; ``increment`` as above. Has no
        effect outside memory.
    """

    HALT = 0
    JUMP = 1
    JUMP_TOKEN = 2
    BRANCH_EQ = 3
    BRANCH_NE = 4
    BRANCH_LT = 5
    BRANCH_GE = 6
    LOOP = 7

    ADD = 8
    SUB = 9
    MUL = 10
    AND = 11
    OR = 12
    XOR = 13
    SHIFT_LEFT = 14
    SHIFT_RIGHT = 15
    MIN = 16
    MAX = 17
    LESS = 18
    TO_FLOAT = 19

    FADD = 24
    FSUB = 25
    FMUL = 26
    FMUL_ADD = 27
    FMIN = 28
    FMAX = 29
    FABS = 30
    FDIV = 31
    FSQRT = 32
    FLESS = 33
    FLESS_EQUAL = 34
    FEQUAL = 35

    FIRST_LANES = 40
    LANES = 41
    SELECT = 42
    REDUCE_ADD = 43
    REDUCE_MAX = 44
    REDUCE_MIN = 45
    EXTRACT = 46

    LOAD = 48
    STORE = 49
    PREFETCH = 50


INTEGERS = (
    Opcode.ADD,
    Opcode.SUB,
    Opcode.AND,
    Opcode.OR,
    Opcode.XOR,
    Opcode.SHIFT_LEFT,
    Opcode.SHIFT_RIGHT,
    Opcode.MIN,
    Opcode.MAX,
    Opcode.LESS,
    Opcode.FABS,
    Opcode.SELECT,
)
"""Opcodes whose results the lanes' integer units have."""


CONTROL = (
    Opcode.HALT,
    Opcode.JUMP,
    Opcode.JUMP_TOKEN,
    Opcode.BRANCH_EQ,
    Opcode.BRANCH_NE,
    Opcode.BRANCH_LT,
    Opcode.BRANCH_GE,
    Opcode.LOOP,
)
"""Opcodes that say which instruction comes next."""

TARGETS = tuple(each for each in CONTROL if each not in (Opcode.HALT, Opcode.JUMP_TOKEN))
"""Opcodes whose ``immediate`` names their target."""


class Fault(IntEnum, metaclass=EnumType, shape=2):
    """Why a run ends at an instruction, which has no effect then.

    ``ENCODING``: its opcode or a source is none, or two operands are taken from the queue.
    ``CONTROL``: a target or a token beyond the program's memory; a third ``LOOP``, or one whose
    ``target`` does not lie as it must; a jump at the end of a body. ``ADDRESS``: a word of a
    ``LOAD`` or ``STORE``, in a lane of its mask, outside memory.
    """

    NONE = 0
    ENCODING = 1
    CONTROL = 2
    ADDRESS = 3


class Source(IntEnum, metaclass=EnumType, shape=3):
    """The source of an operand.

    ``ZERO``: it is 0. ``REGISTER``: register ``index`` of the instruction's own kind, vector or
    scalar. ``SCALAR``: scalar register ``index``, in a vector instruction in every lane.
    ``DEQUEUE``: taken from the data queue, a vector in a vector instruction. ``DEQUEUE_SCALAR``: a
    word taken from the data queue, in a vector instruction in every lane. ``IMMEDIATE``: the
    instruction's, in every lane. At most one operand of an instruction is taken from the queue.
    """

    ZERO = 0
    REGISTER = 1
    SCALAR = 2
    DEQUEUE = 3
    DEQUEUE_SCALAR = 4
    IMMEDIATE = 5


OPERAND = data.StructLayout({"source": Source.as_shape(), "index": unsigned(5)})

INSTRUCTION = data.StructLayout(
    {
        "opcode": Opcode.as_shape(),
        "vector": unsigned(1),
        "dst": unsigned(5),
        "mask": unsigned(2),
        "a": OPERAND,
        "b": OPERAND,
        "c": OPERAND,
        "increment": signed(10),
        "padding": unsigned(16),
        "immediate": unsigned(32),
    }
)
"""96 bits. ``immediate`` is also the ``target`` of jumps, branches and loops, and the ``offset``,
signed, of addresses."""

INSTRUCTION_WORDS = INSTRUCTION.size // 32

_FIELDS = bit_fields(INSTRUCTION)


@dataclass(frozen=True)
class Operand:
    """An operand: ``index`` is that of a register."""

    source: Source = Source.ZERO
    index: int = 0


@dataclass(frozen=True)
class Instruction:
    """An instruction by its fields; ``immediate`` from -2**31 to 2**32 - 1."""

    opcode: Opcode
    vector: bool = False
    dst: int = 0
    mask: int = ALL_LANES
    a: Operand = Operand()
    b: Operand = Operand()
    c: Operand = Operand()
    increment: int = 0
    immediate: int = 0

    def words(self) -> tuple[int, ...]:
        """The 32-bit words of its encoding, the lowest first."""
        operands = {
            name: {"source": operand.source, "index": operand.index}
            for name, operand in (("a", self.a), ("b", self.b), ("c", self.c))
        }
        bits = packed(
            _FIELDS,
            {
                "opcode": self.opcode,
                "vector": self.vector,
                "dst": self.dst,
                "mask": self.mask,
                **operands,
                "increment": self.increment,
                "immediate": self.immediate,
            },
        )
        return tuple(bits >> 32 * word & 0xFFFF_FFFF for word in range(INSTRUCTION_WORDS))

    @classmethod
    def decoded(cls, words: tuple[int, ...]) -> Instruction:
        """Inverse of ``words``. Raises ``ValueError`` for an opcode or source that is none."""
        fields = unpacked(_FIELDS, sum(word << 32 * place for place, word in enumerate(words)))
        operands = {
            name: Operand(Source(fields[name]["source"]), fields[name]["index"])
            for name in ("a", "b", "c")
        }
        return cls(
            Opcode(fields["opcode"]),
            bool(fields["vector"]),
            fields["dst"],
            fields["mask"],
            increment=fields["increment"],
            immediate=fields["immediate"],
            **operands,
        )
