"""Runs a sweep to its end, or on from where an earlier command stopped."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gnarl import __version__
from gnarl.hw.lib.errors import GnarlError, WorkloadError
from gnarl.sw.program.atomic import write_text
from gnarl.sw.program.python_files import is_python_allowed, split_name
from gnarl.sw.runtime.explore import results_file
from gnarl.sw.runtime.explore.board_point import to_place
from gnarl.sw.runtime.explore.identity import identity
from gnarl.sw.runtime.explore.outcome import DEFECT, LEFT_OUT, NOTE, RESULT, STOPPED
from gnarl.sw.runtime.explore.picture import draw_points
from gnarl.sw.runtime.explore.points import Points, board_text, point_name
from gnarl.sw.runtime.explore.schedules import Search, crossed, find_schedules, search_identity
from gnarl.sw.runtime.explore.sweep import Point, Sweep
from gnarl.sw.runtime.report.stages import Stages, quiet
from gnarl.sw.runtime.run.session import is_program, read_workload
from gnarl.sw.workloads.refusals import InputWarning

CSV, JSON, PICTURE = "points.csv", "points.json", "pareto.png"
"""What is written to the folder at the end, beside the results."""

Runner = Callable[[Mapping[int, dict[str, Any]]], Iterator[tuple[int, dict[str, Any]]]]
"""Runs ``gnarl.sw.runtime.explore.point_run.run_point`` on tasks, somewhere; gives what comes of
each, by its key."""


class ExploreError(GnarlError):
    """A sweep that cannot go on here and now."""


@dataclass(frozen=True)
class Job:
    """What all points of a sweep run: arguments of ``gnarl.sw.runtime.run.session.run_once``.

    config, overrides
        of the configuration, as on the command line.
    area
        whether each point's area is estimated.
    board
        the board that points are estimated for, and the best of them placed on; or ``None``.
    places_all
        whether all points are placed that may fit there.
    """

    config: str
    overrides: tuple[str, ...]
    source: str
    backend: str
    values: Path | None
    tensors: Mapping[str, str]
    sizes: Mapping[str, int]
    seed: int
    options: Mapping[str, Any]
    max_cycles: int | None
    area: bool
    board: str | None = None
    places_all: bool = False

    def task(self) -> dict[str, Any]:
        """All of it as plain data, for a process anywhere on the same files."""
        options = {
            name: value.absolute() if isinstance(value, Path) else value
            for name, value in self.options.items()
        }
        return {
            "version": __version__,
            "config": _anywhere(self.config),
            "overrides": list(self.overrides),
            "source": _anywhere(self.source),
            "backend": self.backend,
            "values": None if self.values is None else str(self.values.absolute()),
            "tensors": {name: _anywhere(path) for name, path in self.tensors.items()},
            "sizes": dict(self.sizes),
            "seed": self.seed,
            "options": options,
            "max_cycles": self.max_cycles,
            "area": self.area,
            "board": self.board,
            "place": None,
            "allow_python": is_python_allowed(),
        }


def read_job(sweep: Sweep, job: Job) -> Any:
    """The workload, as all points will read it. Raises ``GnarlError`` where none can."""
    if is_program(job.source):
        raise WorkloadError(f"{job.source}: is compiled already: must be a workload")
    return read_workload(
        sweep.configuration.target,
        job.source,
        values=job.values,
        tensors=job.tensors,
        sizes=job.sizes,
        seed=job.seed,
    )


def explore(
    sweep: Sweep,
    job: Job,
    workload: Any,
    folder: Path,
    run: Runner,
    stages: Stages = quiet,
    show: Callable[[str], None] = lambda line: None,
    search: Search | None = None,
) -> Points:
    """Runs those points of a sweep that ``folder`` has no results of; writes what all have given.

    workload
        what ``read_job`` gave.
    run
        what runs them.
    search
        for schedules, each of which every point has; ``None``: it has that of the job's options.
    show
        called with a line on each point that is done.

    Raises ``GnarlError`` for a folder with something else in it, where points can run no more, and
    where none could; ``RuntimeError`` with a traceback for an error of Gnarl itself, once all
    others have run. What was done until then is kept.
    """
    path = folder / results_file.NAME
    for name in (CSV, JSON, PICTURE):
        if (folder / name).exists() and not path.exists():
            text = f"is there without {results_file.NAME}: must be another folder"
            raise WorkloadError(f"{folder / name}: {text}")
    common = job.task()
    known = identity(sweep, common) | search_identity(search)
    with _made(folder):
        if search is not None:
            if path.exists():
                results_file.require_same(path, known)
            with stages("estimate") as advance:
                schedules = find_schedules(sweep, workload, search, known, folder, advance)
            sweep = crossed(sweep, schedules, search)
        with results_file.opened(path, known, len(sweep.points)) as results:
            _run_rest(sweep, common, results, run, stages, show)
            if job.board is not None:
                chosen = partial(to_place, places_all=job.places_all)
                _place_rest(sweep, common, results, chosen, run, stages, show)
            found = [results.found[at] for at in range(len(sweep.points))]
    points = Points(
        sweep.configuration.name,
        job.source,
        job.backend,
        sweep.fields,
        job.area,
        [point.values for point in sweep.points],
        found,
        job.board,
    )
    with stages("draw"):
        draw_points(points, folder / PICTURE)
    write_text(folder / CSV, points.to_csv())
    write_text(folder / JSON, json.dumps(points.to_json(), allow_nan=False) + "\n")
    for text in dict.fromkeys(text for result in found for text in result.get("warnings", ())):
        warnings.warn(text, InputWarning, stacklevel=2)
    if search is None or search.sparsities is None:
        _require_one_that_ran(path, sweep, found)
    return points


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """A folder to write to. What is made of it and above goes again if nothing is written."""
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):  # not empty
            for each in new:
                each.rmdir()


def _require_one_that_ran(path: Path, sweep: Sweep, found: Sequence[Mapping[str, Any]]) -> None:
    """Raises ``ExploreError`` if all points have errors that were to run."""
    to_run = [at for at, result in enumerate(found) if not result.get(LEFT_OUT)]
    if all(found[at]["error"] for at in to_run):
        name, error = point_name(sweep.points[to_run[0]].values), found[to_run[0]]["error"]
        raise ExploreError(f"{path}: no point ran; the first, {name}: {error}")


def _run_rest(
    sweep: Sweep,
    common: Mapping[str, Any],
    results: results_file.ResultsFile,
    run: Runner,
    stages: Stages,
    show: Callable[[str], None],
) -> None:
    def keep(at: int, result: Mapping[str, Any]) -> None:
        results.add(at, result)
        show(_done(sweep, at, result))

    tasks: dict[int, dict[str, Any]] = {}
    for at, point in enumerate(sweep.points):
        if at in results.found:
            continue
        if point.error:
            keep(at, {"error": point.error, **_scheduled(point)})
        elif point.schedule is not None and point.schedule.is_left_out:
            results.add(at, {"error": None, LEFT_OUT: True, **_scheduled(point)})
        else:
            tasks[at] = _task(common, point)
    with stages("explore") as advance:
        advance(len(results.found) / len(sweep.points))
        for at, result in _outcomes(sweep, tasks, run, stages):
            keep(at, {**result, **_scheduled(sweep.points[at])})
            advance(len(results.found) / len(sweep.points))


def _place_rest(
    sweep: Sweep,
    common: Mapping[str, Any],
    results: results_file.ResultsFile,
    choose: Callable[[Mapping[int, Mapping[str, Any]]], list[int]],
    run: Runner,
    stages: Stages,
    show: Callable[[str], None],
) -> None:
    """Places points until ``choose`` names no more: those that do not fit make room for what they
    alone were taken to dominate."""
    while chosen := choose(results.found):
        tasks = {
            at: {**_task(common, sweep.points[at]), "place": results.found[at]["cycles"]}
            for at in chosen
        }
        with stages("place and route") as advance:
            for done, (at, board) in enumerate(_outcomes(sweep, tasks, run, stages), 1):
                known = results.found[at]
                figures = {"placed": board.get("placed"), "error": board["error"]}
                results.add(at, {**known, "board": {**known["board"], **figures}})
                show(_done(sweep, at, results.found[at]))
                advance(done / len(tasks))


def _task(common: Mapping[str, Any], point: Point) -> dict[str, Any]:
    schedule = (point.schedule.text, point.schedule.name) if point.schedule else None
    return {**common, "swept": list(point.texts), "schedule": schedule}


def _outcomes(
    sweep: Sweep, tasks: Mapping[int, dict[str, Any]], run: Runner, stages: Stages
) -> Iterator[tuple[int, dict[str, Any]]]:
    """What comes of tasks, as they end. What they are at shows inside of the stage that has begun.

    Raises ``ExploreError`` where none can run; ``RuntimeError`` for a defect, once all have ended.
    """
    defects: list[str] = []
    with ExitStack() as shown:
        for at, outcome in run(tasks) if tasks else ():
            name = point_name(sweep.points[at].values)
            if STOPPED in outcome:
                raise ExploreError(f"{name}: {outcome[STOPPED]}; the same command goes on")
            if NOTE in outcome:
                shown.close()
                shown.enter_context(stages(f"{name}: {outcome[NOTE]}"))
            elif DEFECT in outcome:
                defects.append(f"{name}: {outcome[DEFECT]}")
            else:
                yield at, outcome[RESULT]
    if defects:
        raise RuntimeError(defects[0])


def _scheduled(point: Point) -> dict[str, Any]:
    """What a result says of the point's schedule, if it has one."""
    if point.schedule is None:
        return {}
    return {"schedule": point.schedule.name, "estimate": point.schedule.estimate.to_json()}


def _done(sweep: Sweep, at: int, result: Mapping[str, Any]) -> str:
    cycles = result.get("cycles")
    what = result["error"] or ("ran" if cycles is None else f"{cycles:,} cycles")
    board = result.get("board")
    if board is not None:
        what += f", {board_text(board)}"
    return f"{point_name(sweep.points[at].values)}: {what}"


def _anywhere(source: str) -> str:
    """A source that names the same file in every folder, if it names one."""
    file, name = split_name(source)
    if not os.path.exists(file):
        return source
    return f"{os.path.abspath(file)}:{name}" if name else os.path.abspath(file)
