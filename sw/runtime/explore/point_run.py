"""One point of a sweep, run: plain data in and out, so that any process can do it."""

from __future__ import annotations

import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from gnarl import __version__
from gnarl.hw.lib.errors import GnarlError, one_line
from gnarl.sw.program.program import Program
from gnarl.sw.program.python_files import python_allowed
from gnarl.sw.runtime.explore.board_point import estimated, placed, usable_board
from gnarl.sw.runtime.explore.outcome import DEFECT, RESULT, STOPPED
from gnarl.sw.runtime.report.report import Report
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.run.session import Session
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.refusals import InputWarning

REPORTED = (
    *("digest", "cycles", "ops", "ops_per_cycle", "bytes", "intensity"),
    *("matches", "bit_exact", "difference"),
)
"""Fields of a run's report that are a point's, see ``gnarl.sw.runtime.report.report``."""

AREA = ("cells", "flip_flops", "gates", "memory_bits")
"""Figures of ``gnarl area`` for the whole that are a point's."""

_alone = threading.Lock()
"""Runs are one at a time in a process: a cluster's may have several threads."""


def run_point(task: Mapping[str, Any]) -> dict[str, Any]:
    """Runs a workload on one configuration; what it gives is in ``outcome``.

    task
        ``config``, ``overrides`` and ``swept`` of ``load_configuration``; ``source``, ``backend``,
        ``values``, ``tensors``, ``sizes``, ``seed``, ``options`` and ``max_cycles`` of
        ``gnarl.sw.runtime.run.session.run_once``; ``area``, whether it is estimated;
        ``board``, the name of one or ``None``, and ``place``: ``None``, or how many cycles the
        point was found to take that is now placed there and not run;
        ``allow_python``; ``version``, Gnarl's; ``schedule``, the text of one and what errors call
        it, or ``None``.
    """
    if task["version"] != __version__:
        return {STOPPED: f"a worker has Gnarl {__version__}: must be {task['version']}"}
    if task["board"] is not None:
        try:
            usable_board(task["board"])
        except GnarlError as error:
            return {STOPPED: str(error)}
    with _alone, ExitStack() as stack:
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always", InputWarning)
        if task["allow_python"]:
            stack.enter_context(python_allowed())
        try:
            result = _run(task) if task["place"] is None else _placed(task)
        except GnarlError as error:
            result = {"error": str(error)}
        except MemoryError as error:
            result = {"error": f"out of memory: {one_line(error)}"}
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            return {STOPPED: f"{place}{error.strerror or one_line(error)}"}
        except Exception:
            return {DEFECT: traceback.format_exc()}
        texts = [str(each.message) for each in caught if issubclass(each.category, InputWarning)]
        return {RESULT: {**result, "warnings": list(dict.fromkeys(texts))}}


def _run(task: Mapping[str, Any]) -> dict[str, Any]:
    with _session(task) as (device, session):
        run = session.run()
        report: Report = session.report(run, device.verify(run), {})
        whole = report.to_json()
        area = _area(device, run.program) if task["area"] else None
        board = None
        if task["board"] is not None:
            board = estimated(device, run.program, usable_board(task["board"]))
    return {**{name: whole[name] for name in REPORTED}, "area": area, "board": board, "error": None}


def _placed(task: Mapping[str, Any]) -> dict[str, Any]:
    with _session(task) as (device, session):
        return placed(device, session.program, usable_board(task["board"]), task["place"])


@contextmanager
def _session(task: Mapping[str, Any]) -> Iterator[tuple[Device, Session]]:
    """A device for the point, and its workload compiled."""
    configuration = load_configuration(task["config"], task["overrides"], task["swept"])
    values, options = task["values"], task["options"]
    if task["schedule"] is not None:
        explorer = configuration.target.explorer
        assert explorer is not None, "only it makes schedules"
        options = {**options, **explorer.options(*task["schedule"])}
    with Device(configuration, task["backend"]) as device:
        session = Session(
            device,
            task["source"],
            values=None if values is None else Path(values),
            tensors=task["tensors"],
            sizes=task["sizes"],
            seed=task["seed"],
            options=options,
            max_cycles=task["max_cycles"],
        )
        yield device, session


def _area(device: Device, program: Program) -> dict[str, Any] | None:
    """What ``gnarl area`` estimates; ``None`` where launches have different hardware, of which no
    sum is that of one machine."""
    # Not at the top: it takes as long as all other imports, which few sweeps should wait for.
    from gnarl.sw.runtime.area.measure import measure

    machines = [device.hardware(program, launch) for launch in program.launches]
    if len({each.config.digest for each in machines}) > 1:
        return None
    found = measure(machines[0]).to_json()
    whole = {**found["components"], "memory_bits": found["memory_bits"]}
    return {"stage": found["stage"], "gate": found["gate"], **{name: whole[name] for name in AREA}}
