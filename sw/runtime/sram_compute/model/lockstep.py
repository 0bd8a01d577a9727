"""Banks that run the same program together, as long as they skip the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gnarl.hw.sram_compute.microcode.program import Microinstruction
from gnarl.hw.sram_compute.microcode.sequence import sequence
from gnarl.hw.sram_compute.microinstruction import SKIP_CYCLES, Base
from gnarl.sw.runtime.sram_compute.model.array import ComputeArray


@dataclass(frozen=True)
class Spent:
    """Cycles of a program, and those of its last microinstruction until the next can be read."""

    cycles: int
    last: int


class _Divides(Exception):
    """Some banks skip, others don't: which do not."""

    def __init__(self, go_on: np.ndarray) -> None:
        super().__init__()
        self.go_on = go_on


def run_banks(
    arrays: ComputeArray,
    banks: int,
    program: Sequence[Microinstruction],
    bases: Mapping[Base, int],
    n: int,
    *,
    skips: bool,
) -> list[Spent]:
    """Runs a program on the arrays of ``banks`` side by side, each of as many words. Where they
    differ in what they skip, they go on in groups."""
    spent_by_bank = [Spent(0, 0)] * banks
    groups: list[tuple[np.ndarray, list[bool]]] = [(np.arange(banks), [])]
    while groups:
        members, decided = groups.pop()
        part = arrays if len(members) == banks else arrays.part(members, banks)
        try:
            spent = _run(part, len(members), program, bases, n, decided, skips)
        except _Divides as divides:
            for goes_on in (True, False):
                chosen = members[divides.go_on == goes_on]
                groups.append((chosen, [*decided, goes_on]))
        else:
            for bank in members.tolist():
                spent_by_bank[bank] = spent
        if part is not arrays:
            arrays.put(part, members, banks)
    return spent_by_bank


def _run(
    arrays: ComputeArray,
    banks: int,
    program: Sequence[Microinstruction],
    bases: Mapping[Base, int],
    n: int,
    decided: list[bool],
    skips: bool,
) -> Spent:
    """Goes on behind the skips that are ``decided``; more are added to them."""
    before = list(decided)

    def decide() -> bool:
        if before:
            return before.pop(0)
        if not skips:
            return True
        go_on = arrays.any_predicate(banks)
        if go_on.any() != go_on.all():
            raise _Divides(go_on)
        decided.append(bool(go_on[0]))
        return decided[-1]

    cycles, last = 0, 1
    for run in sequence(program, n, decide):
        if run is not None and not before:
            arrays.sweep(run, bases)
        last = 1 if run is None else max(1, run.count)
        cycles += SKIP_CYCLES if run is None else last
    return Spent(cycles, last)
