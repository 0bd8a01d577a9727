"""Graphs of PyTorch's operators as Einsum programs: a statement for each operator, a few for those
that need sums of functions."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import COMPRESSED, DENSE
from gnarl.sw.workloads.einsum.check import check
from gnarl.sw.workloads.einsum.program import AnyStatement, Einsum, EinsumProgram
from gnarl.sw.workloads.einsum.pytorch.composites import COMPOSITES
from gnarl.sw.workloads.einsum.pytorch.constants import CONSTANTS, MADE, constant
from gnarl.sw.workloads.einsum.pytorch.edges import (
    EDGES,
    EdgeList,
    EdgeRow,
    Edges,
    OfEdges,
    is_edge_list,
    leaves,
    materialised,
)
from gnarl.sw.workloads.einsum.pytorch.element_types import COMPARED, as_compared, require_numbers
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
from gnarl.sw.workloads.einsum.pytorch.masks import (
    BESIDE_OTHERS,
    MASKS,
    TAKING_INFINITY,
    is_additive,
    is_additive_mask,
    is_mask,
    moved_mask,
)
from gnarl.sw.workloads.einsum.pytorch.model import Model
from gnarl.sw.workloads.einsum.pytorch.moving import PARTS, SHAPES
from gnarl.sw.workloads.einsum.pytorch.names import Names
from gnarl.sw.workloads.einsum.pytorch.products import PRODUCTS
from gnarl.sw.workloads.einsum.pytorch.rearranging import REARRANGING
from gnarl.sw.workloads.einsum.pytorch.reductions import REDUCTIONS
from gnarl.sw.workloads.einsum.pytorch.results import Results
from gnarl.sw.workloads.einsum.pytorch.sparse_sums import SPARSE_SUMS
from gnarl.sw.workloads.einsum.pytorch.split_linear import (
    Parts,
    is_taken_apart,
    linear_of_parts,
    parts_of,
)
from gnarl.sw.workloads.einsum.pytorch.statements import Statements, Step
from gnarl.sw.workloads.einsum.pytorch.views import Additive, View
from gnarl.sw.workloads.einsum.rearranged_check import inputs_of_hosts
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.pytorch.export import Exported, modules_of, operator_name, place_of
from gnarl.sw.workloads.pytorch.geometric import WITHOUT_NORMALISATION, is_normalisation
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

_ATTENTION = "aten.scaled_dot_product_attention.default"

_OPERATORS: dict[str, Operator] = {**OPERATORS, **SPARSE_SUMS, **MASKS}
"""The same, with those that are for programs alone."""

KNOWN = (*_OPERATORS, *CONSTANTS, *EDGES)
"""Names of all operators that need not be decomposed."""

_WITH_MASKS = (*MASKS, _ATTENTION)
"""Operators that take masks that are known as they are."""

_WITH_MEANINGS = (
    *MASKS,
    *PRODUCTS,
    *REARRANGING,
    _ATTENTION,
    "aten.softmax.int",
    "aten._softmax.default",
    "getitem",
)
"""Operators that take views with meanings."""

_LIFTED = "lifted_tensor_"
"""What ``torch.export`` calls constants that a module makes of numbers."""

WITHOUT_RESULT = ("aten._assert_tensor_metadata.default",)
"""Operators that only check."""

_INSTEAD = {
    **dict.fromkeys(
        ("index", "index_select"),
        "a product with a sparse matrix, or x[edge_index[0]]",
    ),
    **dict.fromkeys(
        ("index_add", "scatter_add", "scatter_reduce"),
        "a product with a sparse matrix, or sums of x[edge_index[0]] over edge_index[1]",
    ),
    "amin": "-(-x).amax(dim)",
    "elu": "torch.relu(x) - torch.relu(1 - torch.exp(x))",
    "logsumexp": "torch.log(torch.exp(x).sum(dim))",
    "relu6": "torch.clamp(x, 0, 6)",
    "repeat": "expand, or torch.cat of copies",
    "rms_norm": "x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)",
    "softplus": "torch.log(torch.exp(x) + 1)",
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
        self._parameters = {
            each
            for each in self._nodes
            if each.op == "placeholder" and graph.names[each.name] in graph.state
        }
        self._names: dict[str, str] = {}
        self._children: dict[str, str] = {}
        self._computed: dict[str, TensorFormat] = {}  # of what PyTorch computes as sparse tensors
        self._constants: dict[Any, View] = {}  # those that are inputs
        self._constant_bytes = 0
        self._edges = Edges()
        self._made = set[str]()  # inputs that are made of masks
        self._values: dict[Any, Any] = {}
        self._steps: dict[Any, Step] = {}

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
        of_hosts = inputs_of_hosts(program.statements)
        constants = {view.tensor for view in self._constants.values()} | self._made
        return Model(
            check(replace(program, formats=stored, shapes=repeated)),
            {
                name: entries_of(used[name], self._inputs[name], finite=name not in of_hosts)
                for name in program.inputs
            },
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
        if is_fixed:
            return value
        view = self._input(user, value)
        if is_mask(value) and value.is_floating_point():
            if not is_additive_mask(value):
                raise WorkloadError(f"{self._graph.name}: {user} has -inf{BESIDE_OTHERS}")
            return replace(view, meaning=Additive())
        return EdgeList(view) if is_edge_list(value) else view

    def _input(self, user: str, value: Any) -> View:
        view = self._statements.declare(user, tuple(value.shape))
        self._inputs[view.tensor], self._names[view.tensor] = value, user
        return replace(view, is_truth=_is_bool(value))

    def _given(self, name: str, value: Any) -> View:
        """Another input, of a tensor that the module has."""
        view = self._input(name, value)
        self._made.add(view.tensor)
        return view

    def _called(self, node: Any, location: Location) -> Any:
        name, place = operator_name(node), f"{location.file}:{location.line}"
        if name in WITHOUT_RESULT:
            return None
        shape = getattr(node.meta.get("val"), "shape", ())
        if not all(isinstance(size, int) for size in shape):
            raise WorkloadError(f"{place}: {name}: its shape depends on values: must be known")
        first = len(self._statements.added)
        value = self._of_edges(node, place)
        if value is None:
            value = self._constant(node, place)
        if value is None:
            value = self._lowered(node, place)
        if isinstance(value, View):
            value = replace(value, is_truth=_is_bool(node.meta["val"]))
        around = modules_of(node)
        for each in self._statements.added[first:] if around else ():
            self._children[each.name] = around[0]
        return value

    def _step(self, node: Any, place: str) -> Step:
        if node not in self._steps:
            name = self._statements.names.claim(node.name)
            self._steps[node] = Step(self._statements, name, place, operator_name(node))
        return self._steps[node]

    def _of_edges(self, node: Any, place: str) -> Any:
        """What an operator gives that takes a list of edges; ``None`` for all others, and where
        what it takes are mere numbers."""
        name = operator_name(node)
        given = [self._values[each] for each in node.all_input_nodes]
        if name in MADE or not any(isinstance(each, OfEdges) for each in leaves(given)):
            return None
        if name in ELEMENTWISE:
            self._declare_constants(node.all_input_nodes)
        shape = getattr(node.meta["val"], "shape", ())
        arguments, named = self._arguments(node)
        step = self._step(node, place)
        require_numbers(step, node)
        return self._edges.lowered(step, shape, arguments, named)

    def _constant(self, node: Any, place: str) -> Any:
        """What an operator gives that takes constants alone; ``None`` for all others."""
        name = operator_name(node)
        arguments, named = self._arguments(node)
        try:
            found = constant(node, arguments, named, _OPERATORS, self._constant_bytes)
        except WorkloadError as error:
            raise WorkloadError(f"{place}: {name}: {error}") from error
        if found is not None:
            self._constant_bytes += found.nbytes
        elif name not in _OPERATORS:
            raise WorkloadError(f"{place}: {_not_supported(node)}")
        return found

    def _lowered(self, node: Any, place: str) -> Any:
        """What an operator gives that is not constant."""
        name, step = operator_name(node), self._step(node, place)
        self._declare_constants(
            each for each in node.all_input_nodes if not self._is_mask(each, name)
        )
        given, by_name = self._arguments(node, name)
        arguments = [materialised(step, each) for each in given]
        named = {key: materialised(step, each) for key, each in by_name.items()}
        for each in (*arguments, *named.values()):
            is_taken = name in TAKING_INFINITY and isinstance(each, float)
            if isinstance(each, float | complex) and not (is_taken or _is_finite(each)):
                raise WorkloadError(f"{place}: {name}: {each}: must be a finite real number")
        require_numbers(step, node)
        if name in COMPARED:
            arguments[1:] = [as_compared(step, node, each) for each in arguments[1:]]
        operator = _OPERATORS[name]
        if is_taken_apart(node, self._parameters):
            operator = parts_of
        elif arguments and isinstance(arguments[0], Parts):
            operator = linear_of_parts
        try:
            signature(operator).bind(step, *arguments, **named)
        except TypeError as error:
            raise WorkloadError(f"{place}: {name}: {error}: not supported") from None
        if name in (*SHAPES, *PARTS) and is_additive(arguments[0]):
            operator = partial(moved_mask, operator)
        elif name not in _WITH_MEANINGS:
            arguments, named = _plain(step, (arguments, named))
        value = operator(step, *arguments, **named)
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
            if isinstance(value, EdgeList):
                value = value.view
            elif isinstance(value, EdgeRow):
                value = materialised(self._step(node, place), value)
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
        computed = self._computed | self._edges.formats
        stored |= {name: computed[name] for name in shapes if name in computed}
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


def _is_bool(tensor: Any) -> bool:
    return str(tensor.dtype) == "torch.bool"


def _is_finite(number: float | complex) -> bool:
    return isinstance(number, float) and math.isfinite(number)


def _not_supported(node: Any) -> str:
    name = operator_name(node)
    short = _short(name)
    if is_normalisation(node):
        return f"{name}: not supported: {WITHOUT_NORMALISATION}"
    instead = _INSTEAD.get(short)
    if instead:
        return f"{name}: not supported: write {instead}"
    return not_of(name, _OPERATORS)


def not_of(name: str, operators: Iterable[str]) -> str:
    """What to say of an operator that is none of these."""
    known = sorted({_short(each) for each in operators} - {"getitem"})
    shown = [each for each in known if not each.startswith("_")]
    return f"{name}: not supported: must be of {', '.join(shown)}"


def _short(name: str) -> str:
    return name.removeprefix("aten.").partition(".")[0]
