"""Products with a graph's adjacency matrix, written with its list of edges.

``index_select`` of rows of nodes at one end of all edges, a product with a weight of each edge, and
``scatter_add`` at the other end is a product with the sparse matrix whose entries are the list's
edges, where those of one place are added. Nothing is lowered before the sum: rows that are gathered
have no other use, and both ends are rows of one list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from gnarl.hw.sam.block_types import COMPRESSED, DENSE
from gnarl.sw.workloads.einsum.pytorch.elementwise import call
from gnarl.sw.workloads.einsum.pytorch.masked import plain
from gnarl.sw.workloads.einsum.pytorch.moving import reshaped
from gnarl.sw.workloads.einsum.pytorch.reductions import require_real
from gnarl.sw.workloads.einsum.pytorch.statements import Step
from gnarl.sw.workloads.einsum.pytorch.views import View
from gnarl.sw.workloads.einsum.rearrangement import Coo, Rearrangement, Reshape
from gnarl.sw.workloads.tensor.expression import Access
from gnarl.sw.workloads.tensor.storage import TensorFormat


@dataclass(frozen=True)
class EdgeList:
    """An input of whole numbers [2, edges], of nodes by row."""

    view: View

    @property
    def count(self) -> int:
        return self.view.shape[1]


@dataclass(frozen=True)
class EdgeRow:
    """The nodes at one end of the edges, ``row`` 0 or 1; in a shape [edges, …] along whose other
    dimensions they repeat."""

    edges: EdgeList
    row: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Gathered:
    """Rows of ``nodes`` at one end of the edges, in a shape [edges, …], times a weight of each edge
    if there is one [edges]."""

    nodes: View
    at: EdgeRow
    shape: tuple[int, ...]
    weight: View | None = None


OfEdges: TypeAlias = EdgeList | EdgeRow | Gathered

Lowering: TypeAlias = Callable[..., Any]

_NODES = ("torch.int32", "torch.int64")
"""Types of numbers of nodes."""

_ADVICE = (
    "rows of nodes at one end of all edges, x[edge_index[0]], may be taken by a product with a "
    "weight of each edge [edges, 1], and by a sum at the other end alone"
)


class Edges:
    """Operators on lists of edges, and the matrices that are made of these.

    formats
        how the matrices are stored, by name.
    """

    def __init__(self) -> None:
        self.formats: dict[str, TensorFormat] = {}
        self._matrices: dict[tuple[object, ...], View] = {}
        self._nodes: dict[tuple[EdgeList, int], int] = {}  # at an end, where known

    def lowered(
        self, step: Step, shape: Sequence[int], arguments: Sequence[Any], named: dict[str, Any]
    ) -> Any:
        """What an operator gives, some of whose arguments are of edges; ``None`` where it takes no
        more than numbers of nodes. Refuses what is no product with a matrix of edges.

        shape
            of what it gives.
        """
        lowering = _OPERATORS.get(step.operator)
        found = lowering and lowering(self, step, tuple(shape), *arguments, **named)
        if found is None and any(isinstance(each, Gathered) for each in leaves(arguments)):
            step.refuse(_ADVICE)
        return found

    def selected(self, step: Step, shape: tuple[int, ...], x: Any, dim: int, index: int) -> Any:
        if isinstance(x, EdgeList) and dim % 2 == 0:
            return EdgeRow(x, index % 2, (x.count,))
        return None

    def unbound(self, step: Step, shape: tuple[int, ...], x: Any, dim: int = 0) -> Any:
        if isinstance(x, EdgeList) and dim % 2 == 0:
            return [EdgeRow(x, row, (x.count,)) for row in (0, 1)]
        return None

    def item(self, step: Step, shape: tuple[int, ...], values: Sequence[Any], number: int) -> Any:
        return values[number]

    def same(self, step: Step, shape: tuple[int, ...], x: Any, *others: Any, **named: Any) -> Any:
        types = [each for each in (*others, *named.values()) if hasattr(each, "is_floating_point")]
        if isinstance(x, Gathered):
            for each in types:
                require_real(step, each)
            return x
        return x if all(str(each) in _NODES for each in types) else None

    def shaped(self, step: Step, shape: tuple[int, ...], x: Any, *others: Any, **named: Any) -> Any:
        """A row of the list as a column, and back."""
        if isinstance(x, EdgeRow) and shape in ((x.edges.count,), (x.edges.count, 1)):
            return replace(x, shape=shape)
        return None

    def expanded(
        self, step: Step, shape: tuple[int, ...], x: Any, *others: Any, **named: Any
    ) -> Any:
        """A column of nodes that repeats."""
        is_row = isinstance(x, EdgeRow) and len(shape) == len(x.shape)
        return replace(x, shape=shape) if is_row and shape[0] == x.edges.count else None

    def gathered(self, step: Step, shape: tuple[int, ...], x: Any, dim: int, at: Any) -> Any:
        if not (isinstance(x, View) and isinstance(at, EdgeRow) and len(at.shape) == 1):
            return None
        if dim % x.rank:
            step.refuse(f"along dimension {dim % x.rank} of {x.rank}: must be along the first")
        self._nodes[at.edges, at.row] = x.shape[0]
        return Gathered(x, at, shape)

    def indexed(self, step: Step, shape: tuple[int, ...], x: Any, at: Sequence[Any]) -> Any:
        if len(at) != 1:
            return None
        return self.gathered(step, shape, x, 0, at[0])

    def weighted(self, step: Step, shape: tuple[int, ...], x: Any, y: Any) -> Any:
        """Times a weight of each edge."""
        gathered, weight = (x, y) if isinstance(x, Gathered) else (y, x)
        if not isinstance(gathered, Gathered) or not isinstance(weight, View):
            return None
        count, *rest = gathered.shape
        if weight.shape != (count, *(1 for _ in rest)):
            return None
        own = plain(step, weight, "weight").permuted([0])
        if gathered.weight is not None:
            own = step.elementwise(lambda a, b: call("mul", a, b), gathered.weight, own)
        return replace(gathered, weight=own)

    def scattered(
        self, step: Step, shape: tuple[int, ...], into: Any, dim: int, at: Any, source: Any
    ) -> Any:
        """The sum at the other end, where each number has a node of its own."""
        if isinstance(at, EdgeRow) and at.shape != tuple(source.shape):
            step.refuse(f"nodes {[*at.shape]} of {[*source.shape]}: must be of the same shape")
        return self._added(step, shape, into, dim, at, source)

    def added(
        self,
        step: Step,
        shape: tuple[int, ...],
        into: Any,
        dim: int,
        at: Any,
        source: Any,
        *,
        alpha: float = 1,
    ) -> Any:
        """The sum of rows at the other end."""
        if alpha != 1:
            step.refuse(f"alpha = {alpha}: must be 1")
        return self._added(step, shape, into, dim, at, source)

    def _added(
        self, step: Step, shape: tuple[int, ...], into: Any, dim: int, at: Any, source: Any
    ) -> Any:
        if not isinstance(at, EdgeRow):
            return None
        is_constant = hasattr(into, "layout")
        if not is_constant or into.count_nonzero() or dim % len(shape):
            step.refuse("must add up along the first dimension, from zeros")
        nodes = shape[0]
        if isinstance(source, Gathered):
            if source.shape != (at.edges.count, *shape[1:]):
                step.refuse(f"of shape {[*source.shape]} into {[*shape]}: must be of as many rows")
            if source.at.edges != at.edges or source.at.row == at.row:
                step.refuse("both ends of the edges must be the two rows of one list")
            return self._product(step, at, nodes, source)
        if hasattr(source, "layout") and len(shape) == 1 and bool((source == 1).all()):
            return self._degrees(step, at, nodes)
        return step.refuse(f"what is added up: {_ADVICE}")

    def reduced(
        self,
        step: Step,
        shape: tuple[int, ...],
        into: Any,
        dim: int,
        at: Any,
        source: Any,
        reduce: str,
        *,
        include_self: object = None,
    ) -> Any:
        if reduce != "sum":
            step.refuse(f"reduce = {reduce!r}: must be 'sum'")
        return self.scattered(step, shape, into, dim, at, source)

    def _product(self, step: Step, at: EdgeRow, nodes: int, source: Gathered) -> View:
        matrix = self._matrix(step, at, nodes, source.nodes.shape[0], source.weight)
        rest = [f"feature {dim}" for dim in range(1, source.nodes.rank)]
        ends = ["to", "from"] if at.row == 0 else ["from", "to"]
        return step.product([(matrix, ends), (source.nodes, ["from", *rest])], ["to", *rest])

    def _degrees(self, step: Step, at: EdgeRow, nodes: int) -> View:
        """How many edges end at each node."""
        others = self._nodes.get((at.edges, 1 - at.row), nodes)
        matrix = self._matrix(step, at, nodes, others, None)
        return step.reduced("sum", matrix, [1 - at.row])

    def _matrix(
        self, step: Step, at: EdgeRow, nodes: int, others: int, weight: View | None
    ) -> View:
        """The matrix of the edges, by their rows in the list; stored as CSR by the end ``at``."""
        key = (at.edges, at.row, nodes, others, weight)
        if key not in self._matrices:
            shape = (nodes, others) if at.row == 0 else (others, nodes)
            self._matrices[key] = _listed(step, at.edges, shape, weight)
            name = self._matrices[key].tensor
            self.formats[name] = TensorFormat((DENSE, COMPRESSED), (at.row, 1 - at.row))
        return self._matrices[key]


def is_edge_list(tensor: Any) -> bool:
    """Whether a tensor of PyTorch may list edges: as of whole numbers, [2, edges]."""
    is_matrix = str(tensor.layout) == "torch.strided" and tensor.dim() == 2
    return is_matrix and str(tensor.dtype) in _NODES and len(tensor) == 2


def materialised(step: Step, value: Any) -> Any:
    """What an operator takes that takes numbers of nodes as numbers."""
    match value:
        case EdgeList(view):
            return view
        case EdgeRow(edges, row, shape):
            step = replace(step, name=step.statements.names.claim(f"{step.name}_nodes"))
            one = step.part(edges.view, 0, range(row, row + 1)).permuted([1])
            column = reshaped(step, one, [edges.count, *(1 for _ in shape[1:])])
            return column.expanded(shape)
        case [*parts]:
            return [materialised(step, each) for each in parts]
    return value


def leaves(values: Sequence[Any]) -> list[Any]:
    """Arguments, and those in lists."""
    found = []
    for each in values:
        found += leaves(each) if isinstance(each, list | tuple) else [each]
    return found


def _listed(step: Step, edges: EdgeList, shape: tuple[int, ...], weight: View | None) -> View:
    statements = step.statements
    names = statements.names.indices()
    i, j, row, edge = (next(names) for _ in range(4))
    operands = [Access(edges.view.tensor, (row, edge))]
    if weight is not None:
        operands.append(Access(_vector(step, weight), (edge,)))
    name = statements.names.claim("adjacency")
    how = Coo(tuple(zip((i, j), shape, strict=True)))
    statements.added.append(Rearrangement(Access(name, (i, j)), how, tuple(operands), step.place))
    statements.shapes[name] = shape
    return View.whole(name, shape)


def _vector(step: Step, x: View) -> str:
    """A tensor of one dimension with the elements of a view of one."""
    statements = step.statements
    own = statements.shapes[x.tensor]
    if x.modes == (0,) and len(own) == 1:
        return x.tensor
    if x.shape != (1,):
        return step.repeated(x, "weight").tensor
    names = statements.names.indices()
    index, others = next(names), tuple(next(names) for _ in own)
    result = Access(statements.names.claim(f"{step.name}_weight"), (index,))
    operand = Access(x.tensor, others)
    how = Reshape(((index, 1),))
    statements.added.append(Rearrangement(result, how, (operand,), step.place))
    statements.shapes[result.tensor] = (1,)
    return result.tensor


_OPERATORS: dict[str, Lowering] = {
    "aten.select.int": Edges.selected,
    "aten.unbind.int": Edges.unbound,
    "getitem": Edges.item,
    **{
        f"aten.{name}": Edges.same
        for name in (
            *(f"{name}.default" for name in ("alias", "clone", "contiguous", "detach")),
            *(f"to.{overload}" for overload in ("dtype", "dtype_layout", "device")),
            "_to_copy.default",
        )
    },
    **dict.fromkeys(
        ("aten.view.default", "aten.reshape.default", "aten.unsqueeze.default"), Edges.shaped
    ),
    **dict.fromkeys(("aten.expand.default", "aten.expand_as.default"), Edges.expanded),
    "aten.index_select.default": Edges.gathered,
    "aten.index.Tensor": Edges.indexed,
    "aten.mul.Tensor": Edges.weighted,
    "aten.scatter_add.default": Edges.scattered,
    "aten.index_add.default": Edges.added,
    "aten.scatter_reduce.two": Edges.reduced,
}
"""By their names in graphs."""

EDGES = tuple(_OPERATORS)
"""Names of operators that may take lists of edges."""
