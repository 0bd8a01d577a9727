"""Views: each tensor of a region at the indices at which the region takes it.

Index variables of statements are renamed to those of the region, from results to what they are
computed of: a statement has the indices of its consumer, and its reduction indices stay distinct
from all others. Only where it reduces a tensor that the region takes already does it share that
view's loop, so that the tensor is computed once. Source: FuseFlow, section 5, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

import networkx as nx

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.iteration import Formula, Named, Operand
from gnarl.sw.workloads.einsum.program import (
    Einsum,
    EinsumExpression,
    EinsumProgram,
    Reduction,
    accesses,
    with_accesses,
)
from gnarl.sw.workloads.tensor.expression import Access, Call, Constant, stored_indices
from gnarl.sw.workloads.tensor.storage import TensorFormat


@dataclass(frozen=True)
class View:
    """A statement, by its name, at the region's indices."""

    statement: str
    result: Access
    expression: EinsumExpression
    order: tuple[str, ...]


@dataclass(frozen=True)
class Views:
    """The statements of a region, each after those that it takes, at the region's indices.

    A statement that is taken at different indices appears once for each, all but one under a name
    of its own. ``results``: the accesses of what is written, in the region's indices.
    """

    views: tuple[View, ...]
    results: tuple[Access, ...]

    def __getitem__(self, access: Access) -> View | None:
        """The view that computes an access; None: it is an input of the region."""
        return next((view for view in self.views if view.result == access), None)

    def inputs(self) -> Iterator[Access]:
        """Accesses of tensors that the region does not compute, in order; each as often as it is
        taken."""
        computed = {view.result.tensor for view in self.views}
        for view in self.views:
            yield from (each for each in accesses(view.expression) if each.tensor not in computed)

    def with_tensors(self, names: Mapping[Access, str]) -> Views:
        """The views with other names of tensors at some accesses of inputs."""

        def change(access: Access) -> Access:
            return replace(access, tensor=names.get(access, access.tensor))

        views = (
            replace(view, expression=with_accesses(view.expression, change)) for view in self.views
        )
        return replace(self, views=tuple(views))


def views_of(
    program: EinsumProgram,
    statements: Sequence[str],
    results: Sequence[str],
    whole: EinsumProgram | None = None,
) -> Views:
    """The views of a region of ``statements``, which writes ``results``.

    whole
        the program that ``program`` is a part of, whose tensors say which indices must have one
        size; ``None``: it is whole.

    Raises ``WorkloadError`` for a tensor that it computes and takes along a diagonal.
    """
    renaming = _Renaming(program, statements, _spaces(whole or program))
    found = {name: renaming.result(name) for name in reversed(results)}
    return Views(tuple(renaming.views.values()), tuple(found[name] for name in results))


class _Renaming:
    def __init__(
        self,
        program: EinsumProgram,
        statements: Sequence[str],
        spaces: Mapping[tuple[str, str], int],
    ) -> None:
        self._program = program
        self._inside = frozenset(statements)
        self._taken: set[str] = set()
        self._fresh = (f"u{number}" for number in count())
        self._known: dict[str, dict[tuple[str, ...], Access]] = {}
        self._spaces = spaces
        self._space_of: dict[str, int] = {}
        self.views: dict[Access, View] = {}

    def result(self, name: str) -> Access:
        """The access of a result, at the indices of the first view of it; else at its own, but for
        those whose names mean something else in the region already."""
        known = list(self._known.get(name, {}).values())
        if known:
            return known[0]
        own = self._program[name].result.indices
        self._taken.update(own)
        indices = []
        for index in own:
            space = self._spaces[name, index]
            if self._space_of.setdefault(index, space) != space:
                index = self._fresh_name()
                self._space_of[index] = space
            indices.append(index)
        return self._view(name, tuple(indices))

    def _fresh_name(self) -> str:
        return next(name for name in self._fresh if name not in self._taken)

    def _view(self, name: str, indices: tuple[str, ...]) -> Access:
        known = self._known.setdefault(name, {})
        if indices in known:
            return known[indices]
        statement = self._program.einsum(name)
        assert statement is not None, name
        if len(set(indices)) < len(indices):
            raise WorkloadError(
                f"{statement.place or name}: {Access(name, indices)} is a diagonal of what the "
                f"region computes: cut the region behind {name}"
            )
        access = known[indices] = Access(self._free_name(name, len(known)), indices)
        renamed = dict(zip(statement.result.indices, indices, strict=True))
        self._taken.update(indices)
        for index in statement.indices:
            if index not in renamed:
                renamed[index] = self._reduced(statement, index, renamed)
                self._taken.add(renamed[index])
                self._space_of.setdefault(renamed[index], self._spaces[statement.name, index])
        expression = self._renamed(statement.expression, renamed)
        order = tuple(renamed[index] for index in statement.order)
        self.views[access] = View(name, access, expression, order)
        return access

    def _free_name(self, name: str, copies: int) -> str:
        names = (f"{name}_{number}" for number in count(copies + 1))
        known = {*self._program.inputs, *(each.name for each in self._program.statements)}
        known |= {access.tensor for views in self._known.values() for access in views.values()}
        return name if not copies else next(each for each in names if each not in known)

    def _reduced(self, statement: Einsum, index: str, renamed: Mapping[str, str]) -> str:
        """The region's name for a reduction index."""
        for taken in statement.operands:
            if index not in taken.indices:
                continue
            place = taken.indices.index(index)
            for known in self._known.get(taken.tensor, {}):
                if known[place] not in renamed.values():
                    pairs = zip(taken.indices, known, strict=True)
                    if all(renamed.get(own, there) == there for own, there in pairs):
                        return known[place]
        if index not in self._taken:
            return index
        return self._fresh_name()

    def _renamed(
        self, expression: EinsumExpression, renamed: Mapping[str, str]
    ) -> EinsumExpression:
        match expression:
            case Access(tensor, indices, column):
                now = tuple(renamed[index] for index in indices)
                if tensor in self._inside:
                    return self._view(tensor, now)
                return Access(tensor, now, column)
            case Constant():
                return expression
            case Call(function, arguments):
                return Call(function, tuple(self._renamed(each, renamed) for each in arguments))
            case Reduction(op, indices, part, column):
                now = tuple(renamed[index] for index in indices)
                return Reduction(op, now, self._renamed(part, renamed), column)


def _spaces(program: EinsumProgram) -> dict[tuple[str, str], int]:
    """A number for each index of each statement; indices that have the same must have one size,
    since tensors connect them."""
    graph: nx.Graph = nx.Graph()
    for statement in program.statements:
        for access in (statement.result, *statement.operands):
            for place, index in enumerate(access.indices):
                graph.add_edge((statement.name, index), (access.tensor, place))
    return {
        (node[0], node[1]): number
        for number, nodes in enumerate(nx.connected_components(graph))
        for node in nodes
        if isinstance(node[1], str)
    }


def formulas(views: Views, formats: Mapping[str, TensorFormat]) -> list[Formula]:
    """A formula for each result, whose inputs are stored in ``formats``. What several take is
    named, and one formula."""
    inlining = _Inlining(views, formats)
    return [inlining.of(access) for access in views.results]


class _Inlining:
    def __init__(self, views: Views, formats: Mapping[str, TensorFormat]) -> None:
        self._views = {view.result: view for view in views.views}
        self._formats = formats
        self._numbers = count(1)
        self._known: dict[Access, Formula] = {}
        uses = [each for view in views.views for each in set(accesses(view.expression))]
        self._shared = {each for each in uses if uses.count(each) > 1}
        self._shared |= {each for each in views.results if each in uses}

    def of(self, access: Access) -> Formula:
        if access not in self._known:
            formula = self._formula(self._views[access].expression)
            self._known[access] = Named(str(access), formula, access in self._shared)
        return self._known[access]

    def _formula(self, expression: EinsumExpression) -> Formula:
        match expression:
            case Access() if expression in self._views:
                return self.of(expression)
            case Access():
                format = self._formats[expression.tensor]
                indices = stored_indices(expression, format)
                return Operand(next(self._numbers), expression.tensor, indices, format.levels)
            case Constant():
                return Operand(next(self._numbers), expression.tensor, (), ())
            case Call("div", (left, right)):
                inverse: Formula = Call("reciprocal", (self._formula(right),))
                return Call("mul", (self._formula(left), inverse))
            case Call(function, arguments):
                return Call(function, tuple(map(self._formula, arguments)))
            case Reduction(op, indices, part):
                return Reduction(op, indices, self._formula(part))
