"""The arrays of a graph's nest: what the graph's tensors become, and names of what is in it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sam.block_types import DENSE
from gnarl.sw.workloads.einsum.pytorch.inputs import format_of, is_strided
from gnarl.sw.workloads.embedding.data import check_bag_offsets
from gnarl.sw.workloads.loops.expressions.program_arrays import Layout, layout
from gnarl.sw.workloads.loops.ir.names import name_problem
from gnarl.sw.workloads.loops.ir.nest import Array, Expression, Load, Statement, Variable
from gnarl.sw.workloads.loops.ir.scalar_type import BY_NAME, FLOAT32, INT32, ScalarType, common
from gnarl.sw.workloads.loops.pytorch.loop import Loop
from gnarl.sw.workloads.loops.pytorch.sparse_matrix import SparseMatrix
from gnarl.sw.workloads.loops.pytorch.storing import stored
from gnarl.sw.workloads.loops.pytorch.values import (
    Destination,
    Indices,
    Stepwise,
    Value,
    View,
    integer,
    refuse,
)
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.pytorch.export import Exported
from gnarl.sw.workloads.tensor.storage import TensorFormat

_TYPES = {"float32": FLOAT32, "int64": INT32}
_TYPES |= {name: BY_NAME[name] for name in ("int32", "int16", "int8", "uint8")}
TYPE_NAMES = ", ".join(_TYPES)
"""Names of PyTorch's."""

_MAX_BYTES = 2**63 - 1
"""Bytes of an array of NumPy, where dimensions of 0 count as 1."""


def type_of(dtype: Any) -> ScalarType | None:
    """What a type of PyTorch is in a nest, if it is anything."""
    return _TYPES.get(str(dtype).removeprefix("torch."))


def promoted(types: Iterable[ScalarType]) -> ScalarType:
    """PyTorch's type of tensors of these types together."""
    given = [*types]
    if FLOAT32 in given:
        return FLOAT32
    shared = common(*given)
    assert shared is not None, "int32 holds whole numbers of all tensors"
    return shared


class Parameters:
    """``arrays`` and ``data`` by name, as operators ask for them: what none reads is left out.

    data
        int32 where PyTorch has int64.
    body
        statements so far.
    temporaries
        arrays that ``body`` writes for what comes after it alone.
    uses
        how often operators and results take each parameter of the graph, by name.
    bag_offsets
        how many indices each array of offsets cuts into bags, by name.
    """

    def __init__(self, graph: Exported) -> None:
        self._graph = graph
        self._taken: set[str] = set()
        self._loops = 0
        self.arrays: dict[str, Array] = {}
        self.data: dict[str, np.ndarray] = {}
        self.body: tuple[Statement, ...] = ()
        self.temporaries: set[str] = set()
        self.uses: Counter[str] = Counter()
        self.bag_offsets: dict[str, int] = {}
        # What is stored by now, by its identity.
        self._stored: dict[int, tuple[Value, View]] = {}

    def name(self, wanted: str) -> str:
        """One that nothing has yet."""
        name = re.sub(r"\W", "_", wanted, flags=re.ASCII)
        if name_problem(name):
            name = f"t_{name}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def placeholder(self, node: Any, place: Location) -> Value | SparseMatrix | int | float | None:
        value = self._graph.data[node.name]
        if not hasattr(value, "layout"):
            return value
        value = value.detach().cpu()
        name = self._graph.names[node.name]
        if is_strided(value):
            return self.tensor(name, value, place)
        try:
            format = format_of(name, value)
        except WorkloadError as error:
            raise WorkloadError(f"{place}: {error}") from None
        return self._sparse(name, value, format, place)

    def _sparse(self, name: str, value: Any, format: TensorFormat, place: Location) -> SparseMatrix:
        """A matrix by rows or columns, or a tensor of entries."""
        if DENSE in format.levels[1:]:
            raise WorkloadError(
                f"{place}: {name} has entries that are dense tensors: must be of numbers"
            )
        wanted = layout(name, format)
        if wanted.segments:
            is_by_rows = format.modes[0] == 0
            segments = value.crow_indices() if is_by_rows else value.ccol_indices()
            arrays = [(wanted.segments, segments)]
            coordinates = [value.col_indices() if is_by_rows else value.row_indices()]
        else:
            value = value.coalesce()
            arrays, coordinates = [], [*value.indices()]
        arrays += zip(wanted.coordinates.values(), coordinates, strict=True)
        arrays.append((wanted.values, value.values()))
        views = {array: self.tensor(array, each, place) for array, each in arrays}
        own = Layout(
            views[wanted.segments].array if wanted.segments else "",
            {mode: views[array].array for mode, array in wanted.coordinates.items()},
            views[wanted.values].array,
        )
        by_name = {view.array: view for view in views.values()}
        return SparseMatrix(tuple(value.shape), format, own, by_name)

    def tensor(self, wanted: str, tensor: Any, place: Location) -> View:
        """A tensor without dimensions becomes an array of one element."""
        type = type_of(tensor.dtype)
        if type is None:
            raise WorkloadError(f"{place}: {wanted} is {tensor.dtype}: must be of {TYPE_NAMES}")
        if math.prod(filter(None, tensor.shape)) * tensor.element_size() > _MAX_BYTES:
            shape = tuple(tensor.shape)
            raise WorkloadError(f"{place}: {wanted} has shape {shape}: NumPy has none that large")
        name, array = self.name(wanted), tensor.resolve_neg().numpy()

        def at(indices: Indices) -> Expression:
            self._declare(name, type, array, place)
            own = tuple(indices) or (integer(0, place),)
            return Load(name, own, type, own[0].place)

        return View(array.shape, type, at, array=name)

    def _declare(self, name: str, type: ScalarType, array: np.ndarray, place: Location) -> None:
        if name not in self.arrays:
            given = array.reshape(array.shape or (1,))
            if type.is_integer and given.dtype != type.dtype:
                self._require_held(name, given, place)
            self.data[name] = given.astype(type.dtype)
            self.declare(name, type, given.shape, place)

    def declare(self, name: str, type: ScalarType, shape: tuple[int, ...], place: Location) -> None:
        sizes = tuple(integer(size, place) for size in shape)
        self.arrays[name] = Array(name, type, sizes, place)

    def read(self, view: View, place: Location) -> None:
        """The view's array is among those of the nest, though nothing loads from it."""
        view.at([integer(0, place) for _ in view.shape])

    def offsets(self, view: View, indices: int, has_last: bool, place: Location) -> None:
        """The view's array has the offsets of bags, and gets that of the last one's end, unless it
        ``has_last``."""
        self.read(view, place)
        found = self.data[view.array]
        known = self.bag_offsets.setdefault(view.array, indices)
        if known != indices:
            refuse(
                place,
                f"{view.array} ends bags of {known} look-ups elsewhere: must not end others of "
                f"{indices}",
            )
        if not has_last and len(found) == view.shape[0]:
            found = np.append(found, found.dtype.type(indices))
            self.data[view.array] = found
            self.declare(view.array, view.type, (len(found),), place)
        elif has_last and len(found) != view.shape[0]:
            refuse(place, f"{view.array} lacks the last bag's end elsewhere: must have it, too")
        try:
            check_bag_offsets(view.array, found, indices)
        except WorkloadError as error:
            refuse(place, str(error))

    def count_uses(self, values: Iterable[Any]) -> None:
        for each in values:
            if isinstance(each, list):
                self.count_uses(each)
            elif isinstance(each, View) and each.array:
                self.uses[each.array] += 1

    def plain(self, value: Any, place: Location) -> View:
        """A tensor of which elements can be asked for: sums are stored first."""
        if isinstance(value, View):
            return value
        if isinstance(value, Stepwise):
            return self.in_array(value, place)
        refuse(place, "takes a sparse matrix: must be dense")

    def in_array(self, value: Value, place: Location) -> View:
        """A tensor that is stored, in an array of its own if it is not yet."""
        if id(value) not in self._stored:
            name = self.name("temporary")
            self.temporaries.add(name)
            self.store(value, name, place)
        return self._stored[id(value)][1]

    def store(self, value: Value, name: str, place: Location, begun: bool = False) -> None:
        """Stores into the array ``name``, which is made if there is none; if ``begun``, a sum
        begins with what it has. What is stored already is copied."""
        if id(value) in self._stored:
            value = self._stored[id(value)][1]
        if name not in self.arrays:
            self.declare(name, value.type, value.shape or (1,), place)

        def at(indices: Indices) -> tuple[Expression, ...]:
            return tuple(indices) or (integer(0, place),)

        def element(indices: Indices) -> Expression:
            return Load(name, at(indices), value.type, place)

        self.body += stored(value, Destination(name, at), place, self.loop, begun)
        self._stored[id(value)] = value, View(value.shape, value.type, element)

    def loop(self, size: int | tuple[Expression, Expression], place: Location) -> Loop:
        variable = Variable(self.variable(), INT32, place)
        bounds = (integer(0, place), integer(size, place)) if isinstance(size, int) else size
        return Loop(variable, *bounds)

    def variable(self) -> str:
        """A name of a loop's variable."""
        name = self.name(f"i{self._loops}")
        self._loops += 1
        return name

    @staticmethod
    def _require_held(name: str, array: np.ndarray, place: Location) -> None:
        if array.size and (array.min() < INT32.least or array.max() > INT32.most):
            raise WorkloadError(f"{place}: {name}: must be in int32")
