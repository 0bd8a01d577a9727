"""An activity in the trace event format of Chrome, which ui.perfetto.dev opens.

Source: "Trace Event Format", Google, 2016.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gnarl.sw.program.atomic import atomic_path
from gnarl.sw.runtime.report.timeline import Activity

_PROCESS = 1


def write_trace(activity: Activity, name: str, path: str | Path) -> None:
    """Writes JSON: a track for each kind, or a counter in % where an activity has spans of cycles,
    and a counter of the units that are busy.

    A cycle is a microsecond, the format's unit. Equal cycles in a row are one event. ``name``: of
    what runs where. The file appears whole or not at all. O(cycles).
    """
    title = activity.title(name)
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write('{"traceEvents": [\n')
        for number, event in enumerate(_events(activity, title)):
            file.write(("" if number == 0 else ",\n") + json.dumps(event))
        other = json.dumps({"title": title, "microsecond": activity.step})
        file.write(f'\n], "otherData": {other}}}\n')


def _events(activity: Activity, title: str) -> Iterator[dict[str, Any]]:
    yield {**_metadata("process_name", title), "tid": 0}
    if activity.edges is None:
        yield from _tracks(activity)
    else:
        for whole, kinds in activity.groups.items():
            for kind, shares in kinds.items():
                yield from _counter(f"{kind}, % of {whole}", "%", 100 * shares, activity.edges)
    name = f"{activity.unit} {activity.state}"
    yield from _counter(name, activity.unit, activity.busy, activity.edges)


def _tracks(activity: Activity) -> Iterator[dict[str, Any]]:
    for track, kind in enumerate(activity.kinds, 1):
        yield {**_metadata("thread_name", kind), "tid": track}
    for track, (kind, issued) in enumerate(activity.kinds.items(), 1):
        for first, end, is_issued in _runs(issued):
            if is_issued:
                event = {"name": kind, "cat": activity.step, "ph": "X", "ts": first}
                yield {**event, "dur": end - first, "pid": _PROCESS, "tid": track}


def _counter(
    name: str, key: str, values: np.ndarray, edges: np.ndarray | None
) -> Iterator[dict[str, Any]]:
    """A counter that is 0 at the end. ``edges``: of what each value is of; by default a cycle."""
    event = {"name": name, "ph": "C", "pid": _PROCESS}
    for first, _, value in _runs(values):
        time = first if edges is None else int(edges[first])
        yield {**event, "ts": time, "args": {key: value}}
    end = len(values) if edges is None else int(edges[-1])
    yield {**event, "ts": end, "args": {key: 0}}


def _metadata(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "ph": "M", "pid": _PROCESS, "args": {"name": text}}


def _runs(values: np.ndarray) -> Iterator[tuple[int, int, Any]]:
    """Runs of equal values: first place, one past the last, value."""
    edges = np.flatnonzero(np.diff(values)) + 1
    firsts = np.concatenate([[0], edges]).tolist()
    ends = [*firsts[1:], len(values)]
    yield from zip(firsts, ends, values[firsts].tolist(), strict=True)
