"""Graphs of PyTorch's operators as Einsum programs: a statement for each operator, a few for those
that need sums of functions."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from inspect import signature
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import COMPRESSED, DENSE
from gnarl.sw.workloads.einsum.check import check
from gnarl.sw.workloads.einsum.program import AnyStatement, Einsum, EinsumProgram
from gnarl.sw.workloads.einsum.pytorch.composites import COMPOSITES
from gnarl.sw.workloads.einsum.pytorch.constants import CONSTANTS, constant
from gnarl.sw.workloads.einsum.pytorch.elementwise import ELEMENTWISE, Operator
from gnarl.sw.workloads.einsum.pytorch.inputs import (
    chosen_formats,
    dense,
    entries_of,
    format_of,
    is_strided,
)
from gnarl.sw.workloads.einsum.pytorch.layers import with_layers
from gnarl.sw.workloads.einsum.pytorch.mask_sinking import with_masks_sunk
from gnarl.sw.workloads.einsum.pytorch.masked import plain
from gnarl.sw.workloads.einsum.pytorch.masks import MASKS, TAKING_INFINITY, is_mask
from gnarl.sw.workloads.einsum.pytorch.model import Model
from gnarl.sw.workloads.einsum.pytorch.moving import PARTS, SHAPES
from gnarl.sw.workloads.einsum.pytorch.names import Names
from gnarl.sw.workloads.einsum.pytorch.products import PRODUCTS
from gnarl.sw.workloads.einsum.pytorch.rearranging import REARRANGING
from gnarl.sw.workloads.einsum.pytorch.reductions import REDUCTIONS
from gnarl.sw.workloads.einsum.pytorch.results import Results
from gnarl.sw.workloads.einsum.pytorch.statements import Statements, Step
from gnarl.sw.workloads.einsum.pytorch.views import View
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.pytorch.export import Exported, modules_of, operator_name, place_of
from gnarl.sw.workloads.tensor.storage import TensorFormat

OPERATORS: dict[str, Operator] = {
    **ELEMENTWISE,
    **PRODUCTS,
    **REDUCTIONS,
    **COMPOSITES,
    **REARRANGING,
    **SHAPES,
    **PARTS,
}
"""What operators mean, by their names in graphs."""

WITH_MASKS: dict[str, Operator] = {**OPERATORS, **MASKS}
"""What they mean in programs, which have masks."""

_ATTENTION = "aten.scaled_dot_product_attention.default"

_WITH_MASKS = (*MASKS, _ATTENTION)
"""Operators that take masks that are known as they are."""

_WITH_MEANINGS = (
    *MASKS,
    *PRODUCTS,
    *REARRANGING,
    _ATTENTION,
    "aten.softmax.int",
    "aten._softmax.default",
)
"""Operators that take views with meanings."""

_LIFTED = "lifted_tensor_"
"""What ``torch.export`` calls constants that a module makes of numbers."""

WITHOUT_RESULT = ("aten._assert_tensor_metadata.default",)
"""Operators that only check."""

_INSTEAD = {
    "index": "a product with a mask, or a slice",
    "repeat": "expand, or torch.cat of copies",
    "spmm": "torch.sparse.mm",
}
"""What to write instead of operators that are not supported."""


def lower(graph: Exported, formats: Mapping[str, str | TensorFormat]) -> Model:
    """The program of a graph, with its data. ``formats``: in place of those that layouts of tensors
    give, see ``chosen_formats``. Raises ``WorkloadError`` naming the user's file and line."""
    return _Lowering(graph).run(formats)


class _Lowering:
    def __init__(self, graph: Exported) -> None:
        self._graph = graph
        *self._nodes, self._output = graph.nodes
        self._statements = Statements(Names(graph.results), self._given)
        self._inputs: dict[str, Any] = {}  # tensors of PyTorch, by their names in the program
        self._names: dict[str, str] = {}
        self._children: dict[str, str] = {}
        self._computed: dict[str, TensorFormat] = {}  # of what PyTorch computes as sparse tensors
        self._constants: dict[Any, View] = {}  # those that are inputs
        self._constant_bytes = 0
        self._made = set[str]()  # inputs that are made of masks
        self._values: dict[Any, Any] = {}

    def run(self, formats: Mapping[str, str | TensorFormat]) -> Model:
        place = self._graph.start
        for node in self._nodes:
            if node.op == "placeholder":
                self._values[node] = self._placeholder(node)
        for node in self._nodes:
            if node.op != "placeholder":
                place = place_of(node, place)
                self._values[node] = self._called(node, place)
        results = self._results(place)
        try:
            return self._model(results, formats)
        except WorkloadError as error:
            raise WorkloadError(f"{self._graph.name}: {error}") from error

    def _model(self, results: Results, formats: Mapping[str, str | TensorFormat]) -> Model:
        names = tuple(results.views)
        sunk = with_masks_sunk(results.statements, self._statements.patterns, names)
        statements = with_layers(sunk, self._children)
        program = _without_idle(EinsumProgram(self._graph.name, tuple(statements), {}, names))
        users = {**self._names, **dict(zip(names, self._graph.results, strict=True))}
        shapes = {
            name: results.shapes[name]
            for name in (*program.inputs, *(each.name for each in program.statements))
        }
        used = {name: user for name, user in users.items() if name in shapes}
        stored = self._formats(program, formats, used, shapes)
        repeated = {
            each.name: shapes[each.name]
            for each in program.einsums
            if each.name in self._statements.repeated
        }
        constants = {view.tensor for view in self._constants.values()} | self._made
        return Model(
            check(replace(program, formats=stored, shapes=repeated)),
            {name: entries_of(used[name], self._inputs[name]) for name in program.inputs},
            shapes,
            used,
            frozenset(
                name
                for name in program.inputs
                if used[name] in self._graph.state or name in constants
            ),
            {name: view.shape for name, view in results.views.items()},
        )

    def _placeholder(self, node: Any) -> Any:
        value = self._graph.data[node.name]
        if not hasattr(value, "layout"):
            return value
        user = self._graph.names[node.name]
        is_fixed = user.startswith(_LIFTED) or (user in self._graph.state and is_mask(value))
        return value if is_fixed else self._input(user, value)

    def _input(self, user: str, value: Any) -> View:
        view = self._statements.declare(user, tuple(value.shape))
        self._inputs[view.tensor], self._names[view.tensor] = value, user
        if str(value.dtype) == "torch.bool":
            self._statements.truths.add(view.tensor)
        return view

    def _given(self, name: str, value: Any) -> View:
        """Another input, of a tensor that the module has."""
        view = self._input(name, value)
        self._made.add(view.tensor)
        return view

    def _called(self, node: Any, location: Location) -> Any:
        name, place = operator_name(node), f"{location.file}:{location.line}"
        if name in WITHOUT_RESULT:
            return None
        if name not in WITH_MASKS and name not in CONSTANTS:
            raise WorkloadError(f"{place}: {_not_supported(name)}")
        shape = getattr(node.meta.get("val"), "shape", ())
        if not all(isinstance(size, int) for size in shape):
            raise WorkloadError(f"{place}: {name}: its shape depends on values: must be known")
        arguments, named = self._arguments(node)
        try:
            found = constant(node, arguments, named, WITH_MASKS, self._constant_bytes)
        except WorkloadError as error:
            raise WorkloadError(f"{place}: {name}: {error}") from error
        if found is not None:
            self._constant_bytes += found.nbytes
            return found
        if name not in WITH_MASKS:
            raise WorkloadError(f"{place}: {_not_supported(name)}")
        first = len(self._statements.added)
        value = self._lowered(node, place)
        around = modules_of(node)
        for each in self._statements.added[first:] if around else ():
            self._children[each.name] = around[0]
        return value

    def _lowered(self, node: Any, place: str) -> Any:
        """What an operator gives that is not constant."""
        name = operator_name(node)
        self._declare_constants(
            each for each in node.all_input_nodes if not self._is_mask(each, name)
        )
        arguments, named = self._arguments(node, name)
        for each in (*arguments, *named.values()):
            is_taken = name in TAKING_INFINITY and isinstance(each, float)
            if isinstance(each, float | complex) and not (is_taken or _is_finite(each)):
                raise WorkloadError(f"{place}: {name}: {each}: must be a finite real number")
        step = Step(self._statements, self._statements.names.claim(node.name), place, name)
        try:
            signature(WITH_MASKS[name]).bind(step, *arguments, **named)
        except TypeError as error:
            raise WorkloadError(f"{place}: {name}: {error}: not supported") from None
        if name not in _WITH_MEANINGS:
            arguments, named = _plain(step, (arguments, named))
        value = WITH_MASKS[name](step, *arguments, **named)
        if isinstance(value, View) and not is_strided(node.meta["val"]):
            tensor, own = value.tensor, self._statements.shapes[value.tensor]
            if value.bare() == View.whole(tensor, own) and tensor not in self._inputs:
                self._computed[tensor] = format_of(tensor, node.meta["val"])
        return value

    def _arguments(self, node: Any, operator: str = "") -> tuple[list[Any], dict[str, Any]]:
        named = {key: self._of(each, operator) for key, each in node.kwargs.items()}
        return [self._of(each, operator) for each in node.args], named

    def _is_mask(self, node: Any, operator: str) -> bool:
        """Whether an operator takes what a node gives as it is, as a mask."""
        return operator in _WITH_MASKS and is_mask(self._values[node])

    def _of(self, argument: Any, operator: str = "") -> Any:
        """What an argument of an operator stands for; constants that are declared are inputs, or
        numbers."""
        if isinstance(argument, list | tuple):
            return [self._of(each, operator) for each in argument]
        if not isinstance(argument, Hashable) or argument not in self._values:
            return argument
        value = self._values[argument]
        if argument in self._constants and not self._is_mask(argument, operator):
            is_number = (
                operator in (*ELEMENTWISE, *MASKS) and not value.dim() and _is_finite(float(value))
            )
            return float(value) if is_number else self._constants[argument]
        return value

    def _declare_constants(self, nodes: Iterable[Any]) -> None:
        """Makes inputs of constants that are taken with other tensors."""
        for node in nodes:
            value = self._values[node]
            if hasattr(value, "layout") and node not in self._constants:
                self._constants[node] = self._input(node.name, value)

    def _results(self, location: Location) -> Results:
        place = f"{location.file}:{location.line}"
        results = Results(self._statements, place)
        for node, user in zip(self._output.args[0], self._graph.results, strict=True):
            if node in self._values:
                self._declare_constants([node])
            value = self._of(node)
            if not isinstance(value, View):
                raise WorkloadError(f"{self._graph.name}: {user}: must be a tensor")
            results.add(user, value)
        return results

    def _formats(
        self,
        program: EinsumProgram,
        chosen: Mapping[str, str | TensorFormat],
        names: Mapping[str, str],
        shapes: Mapping[str, tuple[int, ...]],
    ) -> dict[str, TensorFormat]:
        formats = chosen_formats(chosen, names, shapes)
        stored = {
            name: format_of(names[name], self._inputs[name])
            for name in program.inputs
            if name not in formats
        }
        stored |= {
            name: TensorFormat((*(DENSE,) * (len(modes) - 1), COMPRESSED), modes)
            for name, modes in self._statements.patterns.items()
            if name in shapes
        }
        stored |= {name: dense(len(shapes[name])) for name in program.results}
        stored |= {name: self._computed[name] for name in shapes if name in self._computed}
        return {**stored, **formats}


def _without_idle(program: EinsumProgram) -> EinsumProgram:
    """The program without parts of tensors that nothing takes."""
    needed = set(program.results)
    kept: list[AnyStatement] = []
    for each in reversed(program.statements):
        if each.name in needed or isinstance(each, Einsum):
            kept.append(each)
            needed |= {access.tensor for access in each.operands}
    return replace(program, statements=tuple(reversed(kept)))


def _plain(step: Step, value: Any) -> Any:
    """A value whose views have elements of their own."""
    if isinstance(value, View):
        return plain(step, value, "all")
    if isinstance(value, list | tuple):
        return type(value)(_plain(step, each) for each in value)
    return (
        {key: _plain(step, each) for key, each in value.items()}
        if isinstance(value, dict)
        else value
    )


def _is_finite(number: float | complex) -> bool:
    return isinstance(number, float) and math.isfinite(number)


def _not_supported(name: str) -> str:
    short = _short(name)
    instead = _INSTEAD.get(short)
    if instead:
        return f"{name}: not supported: write {instead}"
    return not_of(name, WITH_MASKS)


def not_of(name: str, operators: Iterable[str]) -> str:
    """What to say of an operator that is none of these."""
    known = sorted({_short(each) for each in operators} - {"getitem"})
    shown = [each for each in known if not each.startswith("_")]
    return f"{name}: not supported: must be of {', '.join(shown)}"


def _short(name: str) -> str:
    return name.removeprefix("aten.").partition(".")[0]
