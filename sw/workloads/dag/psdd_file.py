"""The PSDD text format of probabilistic circuits.

A file names nodes bottom-up, one a line, by any whole numbers; the last node is the root::

    c comment
    psdd 6001
    L id vtree literal                        (or, in an older dialect: L id literal)
    T id vtree variable log-probability       (or: T id variable log-probability)
    T id vtree variable log-probability-of-false log-probability-of-true
    F id [vtree]
    D id vtree count prime sub log-probability [prime sub log-probability …]

The number behind ``psdd`` is not used: programs that write these files count in different ways.
A literal is a variable, or minus a variable; logarithms are natural, and ``-inf`` (``-Infinity``)
is that of probability 0. The probabilities of a decision, and of a ``T`` with two, sum to 1 within
``TOLERANCE``; the only element of a decision has exactly that, logarithm 0. ``F`` is false.

Sources: the format of the UCLA circuit model zoo, as its files' headers state it, and that of
Yujia Shen's PSDD package, which writes two logarithms.
"""

from __future__ import annotations

import math
import re
from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.hw.lib.text_lines import text_lines, words_of
from gnarl.sw.workloads.refusals import refuse_first
from gnarl.sw.workloads.text_file import real_number, whole_number

KINDS = "LTDF"
"""Letters of the node kinds, in the order of ``PsddNodes.kind``."""
LITERAL, TRUE, DECISION, FALSE = range(4)

COMMENT = "^[ \t]*c.*"
"""A regular expression of the lines that are comments."""

_SHORTEST = {"L": 3, "T": 4, "D": 3, "F": 2}
"""Fields of a line of each kind, without the number of the vtree's node."""

TOLERANCE = 1e-3
"""How far the probabilities of a decision may sum to something else than 1, as files round them."""

_IMPOSSIBLE = ("-inf", "-infinity")


@dataclass(frozen=True)
class PsddNodes:
    """The ``n`` nodes of a file and their ``m`` elements, in its order, the root last.

    kind
        uint8 [n]: ``LITERAL``, ``TRUE``, ``DECISION`` or ``FALSE``.
    id, line
        int64 [n]: the number that the file gives the node, and its line.
    label
        int64 [n]: a literal, the variable of a ``TRUE``, 0 for a decision and for false.
    probability
        float64 [n]: the probability of a ``TRUE``, 0 of a ``FALSE``, else 1.
    elements
        int64 [n]: elements of a decision, else 0.
    prime, sub
        int64 [m]: of each element, positions of nodes in these arrays.
    theta
        float64 [m]: the probability of each element.
    """

    kind: np.ndarray
    id: np.ndarray
    line: np.ndarray
    label: np.ndarray
    probability: np.ndarray
    elements: np.ndarray
    prime: np.ndarray
    sub: np.ndarray
    theta: np.ndarray

    @property
    def used(self) -> np.ndarray:
        """Whether some decision uses the node, or it is the root; bool [n]."""
        used = np.zeros(len(self.kind), bool)
        used[self.prime] = True
        used[self.sub] = True
        used[-1] = True
        return used


def parse_psdd(text: str, source: str) -> PsddNodes:
    """The nodes in the text of a file called ``source``.

    Raises ``WorkloadError`` with file and line, also for what files have that were truncated
    between two lines: decisions that are used nowhere, or leaves and no decision.
    O(length of the text).
    """
    parser = _Parser(source)
    for number, line in enumerate(text_lines(text), 1):
        fields = words_of(line)
        if fields and not fields[0].startswith("c"):
            parser.add(fields, number)
    return parser.finish()


_CODES = dict.fromkeys(PsddNodes.__annotations__, "q") | dict(kind="B", probability="d", theta="d")
"""Type codes of ``array.array`` for the fields of ``PsddNodes``."""


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.header = False
        self.position: dict[int, int] = {}
        self.columns: dict[str, array[Any]] = {name: array(code) for name, code in _CODES.items()}

    def add(self, fields: list[str], line: int) -> None:
        """Takes the fields of one line."""
        place = f"{self.source}:{line}"
        if not self.header:
            if len(fields) != 2 or fields[0] != "psdd" or not re.fullmatch("[0-9]+", fields[1]):
                raise WorkloadError(f"{place}: the first line must be 'psdd COUNT'")
            self.header = True
            return
        kind = fields[0]
        label, probability, elements = 0, 1.0, 0
        if kind == "D":
            elements = self._decision(fields, place)
        elif kind == "L":
            _require(len(fields) in (3, 4), place, fields, "L id [vtree] literal")
            label = whole_number(fields[-1], place)
            if label == 0:
                raise WorkloadError(f"{place}: literal 0: must be a variable or minus a variable")
        elif kind == "T":
            label, probability = _true(fields, place)
        elif kind == "F":
            _require(len(fields) in (2, 3), place, fields, "F id [vtree]")
            probability = 0.0
        else:
            raise WorkloadError(f"{place}: unknown node type {short(kind)!r}: must be L, T, F or D")
        node = whole_number(fields[1], place)
        if len(fields) > _SHORTEST[kind]:
            whole_number(fields[2], place)  # the vtree's, of no use here
        if node in self.position:
            first = self.columns["line"][self.position[node]]
            raise WorkloadError(f"{place}: node {node} is already defined in line {first}")
        self.position[node] = len(self.position)
        for name, value in (
            ("kind", KINDS.index(kind)),
            ("id", node),
            ("line", line),
            ("label", label),
            ("probability", probability),
            ("elements", elements),
        ):
            self.columns[name].append(value)

    def _decision(self, fields: list[str], place: str) -> int:
        """Takes the elements of a ``D`` line; their number."""
        _require(len(fields) >= 4, place, fields, "D id vtree count {prime sub log}")
        count = whole_number(fields[3], place)
        if count < 1:
            raise WorkloadError(f"{place}: {count} elements: a decision must have at least one")
        if len(fields) != 4 + 3 * count:
            raise WorkloadError(
                f"{place}: {len(fields)} fields: a decision with {count} elements must have "
                f"{4 + 3 * count}"
            )
        for name, texts in (("prime", fields[4::3]), ("sub", fields[5::3])):
            for text in texts:
                node = self.position.get(whole_number(text, place))
                if node is None:
                    raise WorkloadError(
                        f"{place}: node {short(text)} is not defined above: children must come "
                        "before parents"
                    )
                self.columns[name].append(node)
        thetas = [_probability(text, place) for text in fields[6::3]]
        if count == 1 and thetas[0] != 1.0:
            raise WorkloadError(
                f"{place}: the only element of a decision has log-probability {short(fields[6])}: "
                "must be 0 (probability 1)"
            )
        if not abs(math.fsum(thetas) - 1) <= TOLERANCE:
            raise WorkloadError(
                f"{place}: the probabilities of a decision sum to {math.fsum(thetas):.6g}: must "
                f"sum to 1 within {TOLERANCE}"
            )
        self.columns["theta"].extend(thetas)
        return count

    def finish(self) -> PsddNodes:
        if not self.header:
            raise WorkloadError(f"{self.source}: the file is empty: must start with 'psdd COUNT'")
        if not self.position:
            raise WorkloadError(f"{self.source}: the file has no nodes: must have at least one")
        nodes = PsddNodes(**{name: np.array(column) for name, column in self.columns.items()})
        refuse_first(
            (nodes.kind == DECISION) & ~nodes.used,
            lambda at: (
                f"{self.source}:{nodes.line[at]}: decision {nodes.id[at]} is used by no "
                "other: only the root, the last node, may be; is the file truncated?"
            ),
        )
        if len(nodes.kind) > 1 and nodes.kind[-1] != DECISION:
            raise WorkloadError(
                f"{self.source}:{nodes.line[-1]}: the last node, {nodes.id[-1]}, is no decision, "
                f"and uses none of the {len(nodes.kind) - 1} before it: must be the root; is the "
                "file truncated?"
            )
        return nodes


def _require(sound: bool, place: str, fields: list[str], form: str) -> None:
    if not sound:
        raise WorkloadError(f"{place}: {len(fields)} fields: must be '{form}'")


def _true(fields: list[str], place: str) -> tuple[int, float]:
    """Variable and probability of a ``T`` line."""
    form = "T id [vtree] variable log' or 'T id vtree variable log-of-false log-of-true"
    _require(len(fields) in (4, 5, 6), place, fields, form)
    two = len(fields) == 6
    label = whole_number(fields[-2 - two], place)
    if label <= 0:
        raise WorkloadError(f"{place}: variable {label}: must be above 0")
    probability = _probability(fields[-1], place)
    if two and not abs(_probability(fields[-2], place) + probability - 1) <= TOLERANCE:
        raise WorkloadError(
            f"{place}: the probabilities of variable {label} sum to "
            f"{_probability(fields[-2], place) + probability:.6g}: must sum to 1 within {TOLERANCE}"
        )
    return label, probability


def _probability(text: str, place: str) -> float:
    log = -math.inf if text.lower() in _IMPOSSIBLE else real_number(text, place)
    if log > 0:
        raise WorkloadError(f"{place}: log-probability {short(text)}: must not be above 0")
    return math.exp(log)
