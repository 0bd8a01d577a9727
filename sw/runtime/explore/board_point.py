"""What a point takes of a board, and how fast it is there: estimated first, then placed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gnarl.hw.fpga.boards import Board, find_board
from gnarl.hw.fpga.family import RESOURCE_NAMES, Family
from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.explore.outcome import note
from gnarl.sw.runtime.explore.pareto import front
from gnarl.sw.runtime.report.stages import quiet
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import NamedConfiguration

UNDECIDED = 1.2
"""An estimate of up to so many times what there is does not say that a point is too large."""

Figures = dict[str, Any]
"""``estimate``: numbers of resources, or ``None``; ``placed``: the same with ``clock_hz``,
``goal_hz`` and ``microseconds``, or ``None``; ``error``: why there are no more figures, or
``None``."""


def usable_board(name: str) -> Board:
    """Raises ``GnarlError`` for a board that is not known, or that has no bitstreams here."""
    # Not at the top: what generates hardware takes a while to import.
    from gnarl.sw.runtime.fpga.fastest import require_flow

    board = find_board(name)
    require_flow(board)
    return board


def estimated(device: Device, program: Program, board: Board) -> Figures:
    """What estimates say of a program's machine on a board."""
    from gnarl.sw.runtime.fpga.fit import estimated as estimate

    def figures(hardware: NamedConfiguration) -> Figures:
        needed = estimate(hardware, board.family, quiet).to_dict()
        return _figures(estimate=needed, error=_shortage(needed, board))

    return _of_one_machine(device, program, figures)


def placed(device: Device, program: Program, board: Board, cycles: int) -> Figures:
    """What placement and routing say of it; a run takes so many cycles."""
    from gnarl.sw.runtime.fpga.fastest import fastest

    def figures(hardware: NamedConfiguration) -> Figures:
        found = fastest(hardware, board, _noted)
        clocks = {"clock_hz": found.clock_hz, "goal_hz": found.goal_hz}
        time = {"microseconds": round(1e6 * cycles / found.clock_hz, 3)}
        return _figures(placed={**found.used.to_dict(), **clocks, **time})

    return _of_one_machine(device, program, figures)


def to_place(results: Mapping[int, Mapping[str, Any]], *, places_all: bool) -> list[int]:
    """Points to place next: those that are right and may fit, or of these what no other is taken
    to dominate, by cycles and by estimates of look-up tables alone."""
    compared = [at for at, result in sorted(results.items()) if _may_fit(result)]
    costs = [(results[at]["cycles"], results[at]["board"]["estimate"]["luts"]) for at in compared]
    is_wanted = [True] * len(costs) if places_all else front(costs)
    wanted = [at for at, is_it in zip(compared, is_wanted, strict=True) if is_it]
    return [at for at in wanted if results[at]["board"]["placed"] is None]


def _may_fit(result: Mapping[str, Any]) -> bool:
    board = result.get("board")
    is_right = bool(result.get("matches")) and result.get("cycles") is not None
    return is_right and board is not None and board["error"] is None


def _figures(**known: Any) -> Figures:
    return {"estimate": None, "placed": None, "error": None, **known}


def _of_one_machine(
    device: Device, program: Program, figures: Callable[[NamedConfiguration], Figures]
) -> Figures:
    """Figures of the machine that all launches have, or why there are none."""
    try:
        return figures(device.one_hardware(program))
    except GnarlError as error:
        return _figures(error=str(error))


def _shortage(needed: Mapping[str, int], board: Board) -> str | None:
    """Why a machine is too large by its estimate, if that is so by far.

    Estimates are of ECP5: how many multipliers and block RAMs others need depends on their sizes.
    """
    there = board.resources.to_dict()
    counted = [*RESOURCE_NAMES] if board.family is Family.ECP5 else ["luts", "flip_flops"]
    parts = [
        f"{needed[name]:,} {RESOURCE_NAMES[name]} where there are {there[name]:,}"
        for name in counted
        if needed[name] > UNDECIDED * there[name]
    ]
    return f"too large by estimate: about {', '.join(parts)}" if parts else None


@contextmanager
def _noted(name: str) -> Iterator[Callable[[float], None]]:
    """``Stages`` that whoever has the point run may show."""
    note(name)
    yield lambda share: None
