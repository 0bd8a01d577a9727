"""What reports show of outputs: shape, type and a few values, however large they are."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnarl.sw.golden.words import as_float64
from gnarl.sw.program.tensor_spec import Array, TensorSpec
from gnarl.sw.runtime.report.verify import element_name

WHOLE = 100
"""Named scalars of a run that are shown whole, at most."""

_SHOWN = 4


@dataclass(frozen=True)
class OutputSummary:
    """One output.

    entries
        elements that are stored: all of a dense tensor.
    values
        the first elements by name; all, of named scalars that are few.
    """

    name: str
    shape: tuple[int, ...]
    type: str
    entries: int
    scalars: bool
    values: Mapping[str, int | float]


def summarise(specs: Sequence[TensorSpec], outputs: Mapping[str, Array]) -> list[OutputSummary]:
    """What is shown of each output. O(outputs)."""
    named = sum(_entries(outputs[spec.name]) for spec in specs if spec.scalars)
    summaries = []
    for spec in specs:
        array = outputs[spec.name]
        entries = _entries(array)
        count = entries if spec.scalars and named <= WHOLE else min(entries, _SHOWN)
        values = {element_name(spec, place): value for place, value in _first(array, count)}
        summaries.append(
            OutputSummary(spec.name, tuple(array.shape), spec.type, entries, spec.scalars, values)
        )
    return summaries


def outputs_to_json(outputs: Sequence[OutputSummary]) -> dict[str, Any]:
    """Outputs as JSON; for numbers that JSON lacks, see ``json_number``."""
    entries: dict[str, Any] = {}
    for output in outputs:
        values = {name: json_number(value) for name, value in output.values.items()}
        if output.scalars and len(values) == output.entries:
            entries |= values
            continue
        entries[output.name] = {
            "shape": list(output.shape),
            "type": output.type,
            "entries": output.entries,
            "values": values,
        }
    return entries


def outputs_text(outputs: Sequence[OutputSummary]) -> str:
    """The outputs as people read them."""
    scalars = [output for output in outputs if output.scalars]
    parts = [_listed(scalars)] if scalars else []
    parts += [
        f"{output.name} {list(output.shape)} {output.type}"
        + (f", {output.entries:,} entries" if output.entries != math.prod(output.shape) else "")
        + (f": {_listed([output])}" if output.values else "")
        for output in outputs
        if not output.scalars
    ]
    shown = parts[:_SHOWN]
    if len(parts) > len(shown):
        shown.append(f"and {len(parts) - len(shown):,} more")
    return "\n".join(shown) or "none"


def json_number(value: float) -> float | str:
    """The number, or its name where JSON lacks it: ``Infinity``, ``-Infinity`` or ``NaN``.

    Python's ``float`` and JavaScript's ``Number`` read the names.
    """
    return value if math.isfinite(value) else json.dumps(value)


def _listed(outputs: Sequence[OutputSummary]) -> str:
    """The first values, and how many more there are."""
    values = [pair for output in outputs for pair in output.values.items()][:_SHOWN]
    more = sum(output.entries for output in outputs) - len(values)
    # Whole numbers in full.
    shown = ", ".join(
        f"{name} = {value}" if isinstance(value, int) else f"{name} = {value:g}"
        for name, value in values
    )
    return shown + (f", and {more:,} more" if more else "")


def _entries(array: Array) -> int:
    return array.size if isinstance(array, np.ndarray) else len(array.values)


def _first(array: Array, count: int) -> list[tuple[list[int], int | float]]:
    """The first elements: place and value."""
    if isinstance(array, np.ndarray):
        values = array.reshape(-1)[:count]
        places = [list(map(int, np.unravel_index(at, array.shape))) for at in range(count)]
    else:
        values, places = array.values[:count], array.coordinates[:count].tolist()
    whole = values.dtype.kind in "iu"
    numbers = values.tolist() if whole else as_float64(values).tolist()
    return list(zip(places, numbers, strict=True))
