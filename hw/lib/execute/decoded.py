"""What the execute unit's stages need to know of an instruction."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.encoding.enum import EnumType, IntEnum
from gnarl.hw.lib.encoding.execute_isa import CONTROL, INSTRUCTION, INTEGERS, Fault, Opcode, Source
from gnarl.hw.lib.operation import Operation


class Path(IntEnum, metaclass=EnumType, shape=3):
    """How a result comes to the result bus at a cycle that is known at issue; ``NONE``: it has
    none, or comes at another.

    ``INTEGER``: from the lanes' integer units. ``ADD``, ``MULTIPLY``, ``CONVERT``, ``PRODUCT``:
    from their float adders, float multipliers, converters and integer multipliers.
    ``MULTIPLY_ADD``: through multipliers and adders. ``TREE``: through the adders again and again.
    """

    NONE = 0
    INTEGER = 1
    ADD = 2
    MULTIPLY = 3
    CONVERT = 4
    PRODUCT = 5
    MULTIPLY_ADD = 6
    TREE = 7


DECODED_OPERAND = data.StructLayout(
    {
        "scalar": 1,
        "vector": 1,
        "queue": 1,
        "word": 1,
        "immediate": 1,
        "index": unsigned(5),
    }
)
"""Where an operand comes from: a scalar or vector register, a vector or a word of the data queue,
or the immediate; it is 0 where none is set."""

DECODED = data.StructLayout(
    {
        "opcode": Opcode,
        "vector": 1,
        "dst": unsigned(5),
        "mask": unsigned(2),
        "a": DECODED_OPERAND,
        "b": DECODED_OPERAND,
        "c": DECODED_OPERAND,
        "increment": INSTRUCTION["increment"].shape,
        "immediate": unsigned(32),
        "takes": 1,
        "take_vector": 1,
        "path": Path,
        "operation": Operation,
        "at_once": 1,
        "divides": 1,
        "memory": 1,
        "load": 1,
        "increments": 1,
        "compares": 1,
        "sets_mask": 1,
        "uses_mask": 1,
        "writes_scalar": 1,
        "writes_vector": 1,
        "steers": 1,
        "fault": Fault,
    }
)
"""An instruction.

vector
    works on all lanes.
b
    of a ``STORE``: its c.
takes, take_vector
    what it takes from the data queue.
path, operation
    how its result comes to the bus, and what adders do then.
at_once
    the scalar result comes in the stage after issue, beside the bus.
divides
    ``FDIV``, ``FSQRT``.
memory, load, increments
    uses memory; ``LOAD``; a scalar register is incremented.
compares, sets_mask, uses_mask
    compares vectors; writes a mask from a scalar; reads a mask.
writes_scalar, writes_vector
    writes register ``dst`` through the bus.
steers
    what follows is not sure before it is in the stage after issue: a branch, ``LOOP``, ``HALT``,
    or a fault.
fault
    that its bits alone tell.
"""

BRANCHES = (Opcode.BRANCH_EQ, Opcode.BRANCH_NE, Opcode.BRANCH_LT, Opcode.BRANCH_GE)
_TARGETS = (Opcode.JUMP, *BRANCHES, Opcode.LOOP)
_MASKS = (Opcode.FIRST_LANES, Opcode.LANES)
_COMPARISONS = (Opcode.FLESS, Opcode.FLESS_EQUAL, Opcode.FEQUAL)
_ACROSS = (Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN, Opcode.EXTRACT)
_MEMORY = (Opcode.LOAD, Opcode.STORE, Opcode.PREFETCH)
_PATHS = {
    Path.ADD: (Opcode.FADD, Opcode.FSUB, Opcode.FMIN, Opcode.FMAX),
    Path.MULTIPLY: (Opcode.FMUL,),
    Path.CONVERT: (Opcode.TO_FLOAT,),
    Path.PRODUCT: (Opcode.MUL,),
    Path.MULTIPLY_ADD: (Opcode.FMUL_ADD,),
    Path.TREE: (Opcode.REDUCE_ADD, Opcode.REDUCE_MAX, Opcode.REDUCE_MIN),
    Path.INTEGER: (Opcode.EXTRACT,),
}
_OPERATIONS = {
    Operation.SUB: (Opcode.FSUB,),
    Operation.MAX: (Opcode.FMAX, Opcode.REDUCE_MAX),
    Operation.MIN: (Opcode.FMIN, Opcode.REDUCE_MIN),
}


class Decoder(wiring.Component):
    """Combinational.

    Parameters: ``program_words``, of which targets must be.

    Members: ``instruction`` in; ``decoded`` out.
    """

    def __init__(self, program_words: int) -> None:
        self._program_words = program_words
        super().__init__({"instruction": In(INSTRUCTION), "decoded": Out(DECODED)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        i, o = self.instruction, self.decoded
        is_ = {
            name: i.opcode.matches(*opcodes)
            for name, opcodes in {
                "control": CONTROL,
                "target": _TARGETS,
                "mask": _MASKS,
                "comparison": _COMPARISONS,
                "across": _ACROSS,
                "memory": _MEMORY,
                "integer": INTEGERS,
                "steering": (Opcode.HALT, Opcode.LOOP, *BRANCHES),
            }.items()
        }
        is_load, is_store = i.opcode == Opcode.LOAD, i.opcode == Opcode.STORE
        vector = Signal()
        m.d.comb += [
            vector.eq((i.vector & ~is_["control"] & ~is_["mask"]) | is_["across"]),
            o.opcode.eq(i.opcode),
            o.vector.eq(vector),
            o.dst.eq(i.dst),
            o.mask.eq(i.mask),
            o.increment.eq(i.increment),
            o.immediate.eq(i.immediate),
            o.at_once.eq((is_["integer"] | is_["comparison"]) & ~vector),
            o.divides.eq(i.opcode.matches(Opcode.FDIV, Opcode.FSQRT)),
            o.memory.eq(is_["memory"]),
            o.load.eq(is_load),
            o.increments.eq(is_["memory"] & i.a.source.matches(Source.REGISTER, Source.SCALAR)),
            o.compares.eq(is_["comparison"] & vector),
            o.sets_mask.eq(is_["mask"]),
            o.uses_mask.eq((is_["memory"] | is_["across"] | (i.opcode == Opcode.SELECT)) & vector),
            o.steers.eq(is_["steering"] | (o.fault != Fault.NONE)),
        ]
        writes = (o.path != Path.NONE) | is_load | o.divides
        to_scalar = ~vector | is_["across"]
        m.d.comb += [
            o.writes_scalar.eq(writes & to_scalar),
            o.writes_vector.eq(writes & ~to_scalar),
            o.operation.eq(Operation.ADD),
        ]
        for path, opcodes in _PATHS.items():
            with m.If(i.opcode.matches(*opcodes)):
                m.d.comb += o.path.eq(path)
        with m.If(is_["integer"] & vector):
            m.d.comb += o.path.eq(Path.INTEGER)
        for operation, opcodes in _OPERATIONS.items():
            with m.If(i.opcode.matches(*opcodes)):
                m.d.comb += o.operation.eq(operation)

        self._decode_operands(m, vector, is_["memory"], is_store)
        self._find_faults(m, is_["target"])
        return m

    def _decode_operands(
        self, m: Module, vector: Signal, is_memory: Value, is_store: Value
    ) -> None:
        i, o = self.instruction, self.decoded
        a, b, c = operands = [Signal(DECODED_OPERAND, name=f"operand_{name}") for name in "abc"]
        self._decode_operand(m, i.a, a, vector & ~is_memory)
        self._decode_operand(m, i.b, b, vector)
        self._decode_operand(m, i.c, c, vector)
        m.d.comb += [
            o.a.eq(a),
            o.b.eq(b),
            o.c.eq(c),
            o.takes.eq(Cat((each.queue, each.word) for each in operands).any()),
            o.take_vector.eq(Cat(each.queue for each in operands).any()),
        ]
        with m.If(is_store):
            m.d.comb += o.b.eq(c)

    def _decode_operand(self, m: Module, given: Any, operand: Any, is_vector: Any) -> None:
        m.d.comb += operand.index.eq(given.index)
        with m.Switch(given.source):
            with m.Case(Source.REGISTER):
                m.d.comb += [operand.vector.eq(is_vector), operand.scalar.eq(~is_vector)]
            with m.Case(Source.SCALAR):
                m.d.comb += operand.scalar.eq(1)
            with m.Case(Source.DEQUEUE):
                m.d.comb += [operand.queue.eq(is_vector), operand.word.eq(~is_vector)]
            with m.Case(Source.DEQUEUE_SCALAR):
                m.d.comb += operand.word.eq(1)
            with m.Case(Source.IMMEDIATE):
                m.d.comb += operand.immediate.eq(1)

    def _find_faults(self, m: Module, has_target: Any) -> None:
        i = self.instruction
        sources = [operand.source for operand in (i.a, i.b, i.c)]
        takes = [source.matches(Source.DEQUEUE, Source.DEQUEUE_SCALAR) for source in sources]
        is_wrong = (
            ~i.opcode.matches(*Opcode) | Cat(source > max(Source) for source in sources).any()
        )
        with m.If(is_wrong | (takes[0] & takes[1]) | ((takes[0] | takes[1]) & takes[2])):
            m.d.comb += self.decoded.fault.eq(Fault.ENCODING)
        with m.Elif(has_target & (i.immediate >= self._program_words)):
            m.d.comb += self.decoded.fault.eq(Fault.CONTROL)
