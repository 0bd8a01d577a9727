"""What tables, verdicts and pictures of all benchmarks make of their records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bench.lib.records import Record, rows


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of positive numbers."""
    return float(np.exp(np.mean(np.log(values))))


def split(
    records: Iterable[Record], bench: str
) -> tuple[dict[tuple[Any, ...], dict[str, Any]], dict[str, Any]]:
    """``rows`` of the records of ``bench``, and the values of all others by metric."""
    records = list(records)
    table = rows(record for record in records if record.bench == bench)
    return table, {record.metric: record.value for record in records if record.bench != bench}


def cell(value: Any, places: int = 2) -> str:
    """A value in a table: digits in groups of three, empty for ``None``, a flag as yes or NO."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{places}f}"


def cells(
    row: Mapping[str, Any],
    names: Sequence[Any],
    header: Iterable[str],
    places: int = 2,
    shown: Mapping[str, str] = {},
) -> list[str]:
    """A table's row: names, then the metrics of ``header``, those that the row has. ``shown``:
    format specifications of metrics that every row has."""
    values = (
        format(row[metric], shown[metric]) if metric in shown else cell(row.get(metric), places)
        for metric in header
    )
    return [*map(str, names), *values]


def mark(good: bool) -> str:
    """The mark behind a limit: whether it is kept."""
    return "✔" if good else "✘"
