"""SLC: loops whose loads are streams, with callbacks that compute. Source: Ember, figure 9.

A loop's streams have a value in each of its iterations. Its body is a chain: streams, words that
are queued, and callbacks before the one loop inside of it happen in each iteration before that loop
begins; those behind it when it has ended. Before all of them a toggle may watch a stream. In the
vector form (SLCV) a loop steps over so many
iterations at once, and its streams have vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import (
    Attribute,
    Block,
    Dialect,
    ParametrizedAttribute,
    Region,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from gnarl.sw.compiler.nests.dialects.fiber import Merging


@irdl_attr_definition
class StreamType(ParametrizedAttribute, TypeAttribute):
    """A stream of ``element``: i32, f32, or vectors of them."""

    name = "slc.stream"

    element: Attribute


@irdl_op_definition
class ForOp(IRDLOperation):
    """A loop over streams. ``lower``, ``upper``: i32 constants, or streams of i32 of the loop
    around. The body's argument is the stream of induction variables. ``vector``: iterations in a
    step. ``accumulates``: both bounds count from where the loop has ended in the iteration before
    of the loop around, or from 0."""

    name = "slc.for"

    lower = operand_def()
    upper = operand_def()
    step = prop_def(IntegerAttr)
    vector = opt_prop_def(IntegerAttr)
    accumulates = opt_prop_def(UnitAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    def __init__(
        self,
        lower: SSAValue,
        upper: SSAValue,
        step: int,
        body: Region,
        vector: int | None = None,
        accumulates: bool = False,
    ) -> None:
        properties: dict[str, Attribute] = {"step": IntegerAttr(step, i64)}
        if vector is not None:
            properties["vector"] = IntegerAttr(vector, i64)
        if accumulates:
            properties["accumulates"] = UnitAttr()
        super().__init__(operands=[lower, upper], properties=properties, regions=[body])

    @property
    def induction(self) -> SSAValue:
        return self.body.block.args[0]


CONJUNCTIVE, DISJUNCTIVE = "conjunctive", "disjunctive"


@irdl_op_definition
class MergeOp(Merging):
    """Merges fibers n, those of ``coordinates[n]`` between ``lowers[n]`` and ``uppers[n]``.

    An iteration is for a coordinate that all fibers have (``kind`` ``"conjunctive"``) or that any
    has (``"disjunctive"``). The body's arguments are streams of i32: the coordinate; each fiber's
    position; if disjunctive, the mask of the fibers that have it. A stream may be of one position,
    and is 0 in iterations whose coordinate that fiber lacks; so are positions.
    """

    name = "slc.merge"

    def verify_(self) -> None:
        count = len(self.coordinates)
        if self.kind.data not in (CONJUNCTIVE, DISJUNCTIVE):
            raise VerifyException(
                f"kind {self.kind.data!r}: must be {CONJUNCTIVE!r} or {DISJUNCTIVE!r}"
            )
        self.verify_bounds()
        expected = count + 2 if self.is_disjunctive else count + 1
        if [each.type for each in self.body.block.args] != [StreamType(i32)] * expected:
            raise VerifyException(f"the body's arguments must be {expected} streams of i32")

    @property
    def is_disjunctive(self) -> bool:
        return self.kind.data == DISJUNCTIVE

    @property
    def coordinate(self) -> SSAValue:
        return self.body.block.args[0]

    @property
    def mask(self) -> SSAValue | None:
        return self.body.block.args[-1] if self.is_disjunctive else None


LOOPS = (ForOp, MergeOp)


@irdl_op_definition
class MemStrOp(IRDLOperation):
    """Loads of ``array``, which is only read, at ``indices``: i32 constants and streams of i32."""

    name = "slc.mem_str"

    array = operand_def(MemRefType)
    indices = var_operand_def()
    stream = result_def(StreamType)

    def __init__(self, array: SSAValue, indices: Sequence[SSAValue], element: Attribute) -> None:
        super().__init__(operands=[array, list(indices)], result_types=[StreamType(element)])


@irdl_op_definition
class AluStrOp(IRDLOperation):
    """``operation`` of i32 streams and constants: a name of ``AluOperation``, in lower case."""

    name = "slc.alu_str"

    operation = prop_def(StringAttr)
    left = operand_def()
    right = operand_def()
    stream = result_def(StreamType)

    def __init__(self, operation: str, left: SSAValue, right: SSAValue, element: Attribute) -> None:
        super().__init__(
            operands=[left, right],
            properties={"operation": StringAttr(operation)},
            result_types=[StreamType(element)],
        )


@irdl_op_definition
class StoreStrOp(IRDLOperation):
    """Writes a stream's value to ``array`` at ``indices``, i32 constants and streams of i32, past
    the execute unit; of a vector, the lanes in use to neighbours from where lane 0's indices are.
    Nobody else reads or writes the array."""

    name = "slc.store_str"

    value = operand_def(StreamType)
    array = operand_def(MemRefType)
    indices = var_operand_def()

    def __init__(self, value: SSAValue, array: SSAValue, indices: Sequence[SSAValue]) -> None:
        super().__init__(operands=[value, array, list(indices)])


@irdl_op_definition
class PushOp(IRDLOperation):
    """Queues a stream's value without a token; of a vector stream all lanes. ``aligned``: a word as
    the first of a row of the queue, the others being 0."""

    name = "slc.push"

    stream = operand_def(StreamType)
    aligned = opt_prop_def(UnitAttr)

    def __init__(self, stream: SSAValue, aligned: bool = False) -> None:
        properties = {"aligned": UnitAttr()} if aligned else {}
        super().__init__(operands=[stream], properties=properties)


@irdl_op_definition
class CallbackOp(IRDLOperation):
    """Queues the values of ``streams`` and a token, at which the execute unit runs the body: its
    arguments are those values, of a vector loop's induction the first lane's. ``masked``: one
    argument more, the lanes in use."""

    name = "slc.callback"

    streams = var_operand_def(StreamType)
    masked = opt_prop_def(UnitAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    def __init__(self, streams: Sequence[SSAValue], body: Region, masked: bool = False) -> None:
        super().__init__(
            operands=[list(streams)],
            properties={"masked": UnitAttr()} if masked else {},
            regions=[body],
        )

    def drop_unused(self) -> None:
        """Streams whose values the body does not use are queued no longer."""
        block = self.body.block
        pairs = list(zip(self.streams, list(block.args), strict=False))
        self.operands = [stream for stream, argument in pairs if argument.uses.get_length()]
        for _, argument in pairs:
            if not argument.uses.get_length():
                block.erase_arg(argument)


@irdl_op_definition
class ToggleOp(IRDLOperation):
    """In an iteration in which ``stream`` differs from what it was an iteration of the loop before,
    and in each first one of the loop: queues the stream's value and a token, before all else of the
    iteration, at which the execute unit runs the body, whose argument is that value. ``aligned``:
    the value is the first of a row of the queue, a vector whose other lanes are 0.

    The stream is of the loop around, which steps over one iteration at once and has no other
    toggle."""

    name = "slc.toggle"

    stream = operand_def(StreamType(i32))
    aligned = opt_prop_def(UnitAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    def __init__(self, stream: SSAValue, body: Region, aligned: bool = False) -> None:
        properties = {"aligned": UnitAttr()} if aligned else {}
        super().__init__(operands=[stream], properties=properties, regions=[body])

    @property
    def streams(self) -> Sequence[SSAValue]:
        """The streams, as callbacks have them."""
        return (self.stream,)

    @property
    def value(self) -> SSAValue:
        """The value of the stream in the body: i32, or a vector."""
        return self.body.block.args[0]

    def verify_(self) -> None:
        arguments = [each.type for each in self.body.block.args]
        if self.aligned is None and arguments != [i32]:
            raise VerifyException("the body must have one argument, of i32")
        if self.aligned is not None and not (
            len(arguments) == 1
            and isinstance(arguments[0], VectorType)
            and arguments[0].element_type == i32
        ):
            raise VerifyException("the body must have one argument, a vector of i32")
        loop = self.parent_op()
        if not isinstance(loop, ForOp) or loop.vector is not None:
            raise VerifyException("must be in a slc.for that steps over one iteration at once")
        owner = self.stream.owner
        if (owner if isinstance(owner, Block) else owner.parent_block()) is not loop.body.block:
            raise VerifyException("must be of a stream of the loop around it")
        before = self.prev_op
        while before is not None:
            if isinstance(before, PushOp | CallbackOp | ToggleOp | ForOp | MergeOp):
                raise VerifyException(f"must come before {before.name} in its loop")
            before = before.prev_op


@irdl_op_definition
class PopOp(IRDLOperation):
    """Takes a value from the data queue: i32, f32, or a vector."""

    name = "slc.pop"

    value = result_def()

    def __init__(self, type: Attribute) -> None:
        super().__init__(result_types=[type])


@irdl_op_definition
class GetOp(IRDLOperation):
    """Reads a variable that the execute unit keeps in a register, 0 at first."""

    name = "slc.get"

    variable = prop_def(StringAttr)
    value = result_def()

    def __init__(self, variable: str, type: Attribute) -> None:
        super().__init__(properties={"variable": StringAttr(variable)}, result_types=[type])


@irdl_op_definition
class SetOp(IRDLOperation):
    """Writes such a variable."""

    name = "slc.set"

    variable = prop_def(StringAttr)
    value = operand_def()

    def __init__(self, variable: str, value: SSAValue) -> None:
        super().__init__(operands=[value], properties={"variable": StringAttr(variable)})


@irdl_op_definition
class BlendOp(IRDLOperation):
    """``value`` in the lanes of a mask, ``other`` in those that it lacks."""

    name = "slc.blend"

    mask = operand_def(VectorType)
    value = operand_def(VectorType)
    other = operand_def(VectorType)
    result = result_def(VectorType)

    def __init__(self, mask: SSAValue, value: SSAValue, other: SSAValue) -> None:
        super().__init__(operands=[mask, value, other], result_types=[value.type])


SLC = Dialect(
    "slc",
    [
        ForOp,
        MergeOp,
        MemStrOp,
        AluStrOp,
        StoreStrOp,
        PushOp,
        CallbackOp,
        ToggleOp,
        PopOp,
        GetOp,
        SetOp,
        BlendOp,
    ],
    [StreamType],
)


def body_of(arguments: Sequence[Attribute]) -> Region:
    """An empty body."""
    return Region(Block(arg_types=arguments))
