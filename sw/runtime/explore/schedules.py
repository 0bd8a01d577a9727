"""Points for each schedule of a workload: which there are, and which estimates leave out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import ConfigError, WorkloadError
from gnarl.sw.program.atomic import write_text
from gnarl.sw.runtime.explore.sweep import PointSchedule, Sweep
from gnarl.sw.runtime.target.explorer import Alternative, Estimated, Explorer

NAME = "schedules.json"
"""The file that has the schedules that were found."""

FOLDER = "schedules"
"""Where each of them has a file of its own."""


@dataclass(frozen=True)
class Search:
    """What schedules are looked for, and which of them run.

    lanes
        numbers of lanes that loops may have.
    words
        numbers of neighbours along an index that may be one value.
    keep
        a schedule is left out if another one, whose largest graph is no larger, is taken to need
        less than one part in so many of its cycles.
    sparsities
        shares of zeros of inputs by name, in place of the workload's values, of schedules that are
        only estimated; ``None``: they run.
    """

    lanes: tuple[int, ...]
    words: tuple[int, ...]
    keep: float
    sparsities: Mapping[str, float] | None


def search_identity(search: Search | None) -> dict[str, Any]:
    """What makes two searches the same, and none another than any; JSON's types only."""
    if search is None:
        return dict.fromkeys(("search", "lanes", "words", "keep", "estimate"))
    estimate = None if search.sparsities is None else dict(search.sparsities)
    return {
        "search": True,
        "lanes": list(search.lanes),
        "words": list(search.words),
        "keep": search.keep,
        "estimate": estimate,
    }


def explorer_of(sweep: Sweep) -> Explorer:
    """Raises ``ConfigError`` for a target without schedules."""
    configuration = sweep.configuration
    explorer = configuration.target.explorer
    if explorer is None:
        target = configuration.target.name
        raise ConfigError([f"--search: {configuration.name}: target {target} has none"])
    return explorer


def find_schedules(
    sweep: Sweep,
    workload: Any,
    search: Search,
    identity: Mapping[str, Any],
    folder: Path,
    advance: Callable[[float], None],
) -> list[Alternative]:
    """The schedules of a workload on the first configuration of a sweep, each in a file of its own
    in ``folder``, and all in ``NAME``, from which they are read if they were found before for the
    same ``identity``. Raises ``GnarlError`` as ``Explorer.alternatives`` does."""
    explorer = explorer_of(sweep)
    path = folder / NAME
    known = _read(path, identity, explorer)
    if known is not None:
        return known
    found = explorer.alternatives(
        workload,
        sweep.configuration.config,
        lanes=search.lanes,
        words=search.words,
        sparsities=search.sparsities,
        advance=advance,
    )
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    for number, each in enumerate(found):
        write_text(folder / schedule_name(number, explorer), each.schedule)
    entries = [
        {
            "values": dict(each.values),
            "schedule": each.schedule,
            "estimate": each.estimate.to_json(),
        }
        for each in found
    ]
    write_text(path, json.dumps({"of": identity, "schedules": entries}) + "\n")
    return found


def schedule_name(number: int, explorer: Explorer) -> str:
    """The file of a schedule, in the folder of results."""
    return f"{FOLDER}/{number:03}{explorer.suffix}"


def _read(path: Path, identity: Mapping[str, Any], explorer: Explorer) -> list[Alternative] | None:
    """The schedules that were found before, if they were for the same. Raises ``WorkloadError`` for
    a file that is none of these."""
    if not path.exists():
        return None
    try:
        content = json.loads(path.read_text())
        if content["of"] != identity:
            return None
        found = [_alternative(each, explorer) for each in content["schedules"]]
        if not found:
            raise ValueError("a search finds some")
        return found
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        text = "not schedules of gnarl explore, or damaged: must be another folder"
        raise WorkloadError(f"{path}: {text}") from None


def _alternative(entry: Mapping[str, Any], explorer: Explorer) -> Alternative:
    """Raises for what ``find_schedules`` does not write, as ``_read`` expects it to."""
    values, schedule, estimate = entry["values"], entry["schedule"], entry["estimate"]
    texts, numbers = [*values.values(), schedule], estimate.values()
    if not all(isinstance(text, str) for text in texts) or [*values] != [*explorer.fields]:
        raise TypeError("must be texts of the explorer's fields")
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise TypeError("must be whole numbers")
    return Alternative(values, schedule, Estimated(**estimate))


def crossed(sweep: Sweep, found: Sequence[Alternative], search: Search) -> Sweep:
    """The sweep's points, each with each schedule."""
    explorer = explorer_of(sweep)
    is_left_out = left_out([each.estimate for each in found], search.keep)
    if search.sparsities is not None:
        is_left_out = [True] * len(found)
    schedules = [
        PointSchedule(
            schedule_name(number, explorer), each.schedule, dict(each.values), each.estimate, out
        )
        for number, (each, out) in enumerate(zip(found, is_left_out, strict=True))
    ]
    points = tuple(replace(point, schedule=each) for point in sweep.points for each in schedules)
    return replace(sweep, points=points, schedule_fields=explorer.fields)


def left_out(estimates: Sequence[Estimated], keep: float) -> list[bool]:
    """Whether each estimate is so much worse than another, of a graph that is no larger, that its
    run would show nothing."""
    return [
        any(
            other.blocks <= each.blocks and other.cycles * keep < each.cycles for other in estimates
        )
        for each in estimates
    ]
