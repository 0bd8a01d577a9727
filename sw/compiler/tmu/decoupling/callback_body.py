"""What callbacks do: operations of a loop's body, with streams as arguments."""

from __future__ import annotations

from collections.abc import Collection
from typing import NoReturn

from xdsl.dialects import memref
from xdsl.ir import Block, Operation, SSAValue

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.nests.dialects.slc import GetOp, StreamType
from gnarl.sw.compiler.nests.scf import place_of


class CallbackBody:
    """Copies operations into a callback's body; streams become its arguments.

    ``arrays``: those of the new function by the old ones; ``written``: old ones that the nest
    writes; ``known``: streams of values; ``streams``: to which those that are needed are added.
    """

    def __init__(
        self,
        block: Block,
        arrays: dict[SSAValue, SSAValue],
        written: Collection[SSAValue],
        known: dict[SSAValue, SSAValue],
        streams: list[SSAValue],
    ) -> None:
        self._block = block
        self._values = dict(arrays)
        self._written = written
        self._known = known
        self._streams = streams

    def copy(self, operation: Operation) -> None:
        """Copies an operation, with what it needs from outside. Raises ``WorkloadError`` for what
        may have changed since it was read."""
        for each in _from_outside(operation):
            self._need(each)
        self._block.add_op(operation.clone(self._values))

    def _need(self, value: SSAValue) -> None:
        if value in self._values:
            return
        if value in self._known:
            stream = self._known[value]
            if stream not in self._streams:
                self._streams.append(stream)
                assert isinstance(stream.type, StreamType)
                argument = self._block.insert_arg(stream.type.element, len(self._block.args))
                argument.name_hint = value.name_hint
            self._values[value] = self._block.args[self._streams.index(stream)]
            return
        owner = value.owner
        assert isinstance(owner, Operation), "a value from outside of all loops"
        for each in owner.walk():
            is_load = isinstance(each, memref.LoadOp) and each.memref in self._written
            if is_load or isinstance(each, GetOp):
                refuse(
                    place_of(each), "a value that is read before a loop and used in or behind it"
                )
        for operand in _from_outside(owner):
            self._need(operand)
        cloned = owner.clone(self._values)
        self._block.add_op(cloned)
        for old, new in zip(owner.results, cloned.results, strict=True):
            self._values[old] = new


def _from_outside(operation: Operation) -> list[SSAValue]:
    """What an operation and those in its regions need that none of them gives."""
    inside: set[SSAValue] = {result for each in operation.walk() for result in each.results}
    inside |= {
        argument
        for each in operation.walk()
        for region in each.regions
        for block in region.blocks
        for argument in block.args
    }
    return [
        operand for each in operation.walk() for operand in each.operands if operand not in inside
    ]


def refuse(place: str, what: str) -> NoReturn:
    """Raises ``WorkloadError``: ``what`` stands at ``place``."""
    raise WorkloadError(f"{place}: {what}: cannot be decoupled; --coupled runs it")
