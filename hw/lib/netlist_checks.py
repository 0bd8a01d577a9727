"""Amaranth's checks of a design, in time that grows with the design and not with its square.

Signals of thousands of bits whose parts are assigned one by one, as a machine's counters are, take
more than half of the time of a large design otherwise. What is checked stays the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from amaranth.hdl import _dsl, _nir

_BITWISE = ("~", "&", "|", "^", "m")
"""Operators each of whose bits depends on the same bit of their operands alone."""

_Edges = Iterable[tuple[_nir.Net, Any]]
"""Nets that a bit depends on, and where in the source."""


@contextmanager
def linear_checks() -> Iterator[None]:
    """Checks of designs that are converted meanwhile take linear time."""
    with ExitStack() as replaced:
        for owner, name, value in (
            (_dsl, "LHSMaskCollector", _NoMasks),
            (_nir.Operator, "comb_edges_to", _edges_of_operator),
            (_nir.AssignmentList, "comb_edges_to", _edges_of_assignments),
        ):
            replaced.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)
        yield


class _NoMasks:
    """In place of what finds bits with two drivers when statements are added: netlists are checked
    for them, too."""

    def visit_stmt(self, statement: Any) -> None:
        pass

    def masks(self) -> tuple[()]:
        return ()


_operator_edges = _nir.Operator.comb_edges_to


def _edges_of_operator(self: Any, bit: int) -> _Edges:
    """Once all that one bit depends on has been followed, that of others has, too: it is the same
    but for operators of bits."""
    if getattr(self, "_is_followed", False):
        return
    yield from _operator_edges(self, bit)
    self._is_followed = self.operator not in _BITWISE


def _edges_of_assignments(self: Any, bit: int) -> _Edges:
    """Those of all bits are collected at the first use."""
    if not hasattr(self, "_edges"):
        self._edges = [[(net, self.src_loc)] for net in self.default]
        for assign in self.assignments:
            for place, net in enumerate(assign.value, assign.start):
                self._edges[place] += [(assign.cond, assign.src_loc), (net, assign.src_loc)]
    return self._edges[bit]
