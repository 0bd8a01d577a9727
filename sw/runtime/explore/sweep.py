"""The points of a sweep: every combination of values of some fields of a configuration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from gnarl.hw.lib.errors import ConfigError, GnarlError, damaged_as, short
from gnarl.sw.runtime.target.configuration import load_configuration, parse_override
from gnarl.sw.runtime.target.contract import NamedConfiguration
from gnarl.sw.runtime.target.explorer import Estimated

MOST_POINTS = 10_000

_OPENING, _CLOSING, _QUOTES = "[{(", "]})", "\"'"


@dataclass(frozen=True)
class Axis:
    """A field that is swept.

    texts
        ``FIELD=VALUE`` of each value, as ``--set`` takes it.
    values
        the same, read.
    """

    field: str
    texts: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class PointSchedule:
    """What a point's workload is compiled with.

    name
        its file in the folder of results.
    is_left_out
        whether its estimate is all that there is to be of it.
    """

    name: str
    text: str
    values: Mapping[str, str]
    estimate: Estimated
    is_left_out: bool


@dataclass(frozen=True)
class Point:
    """A combination of values.

    texts
        ``FIELD=VALUE`` of each field.
    swept
        the values by field, JSON's types only.
    digest
        SHA-256 of all fields of the configuration; empty where there is none.
    error
        why the combination makes no configuration, or empty.
    """

    texts: tuple[str, ...]
    swept: dict[str, Any]
    digest: str
    error: str
    schedule: PointSchedule | None = None

    @property
    def values(self) -> dict[str, Any]:
        """What tells the point from others, by field, JSON's types only."""
        return {**self.swept, **(self.schedule.values if self.schedule else {})}


@dataclass(frozen=True)
class Sweep:
    """``points``, the last field's values changing fastest; ``configuration`` of the first that has
    one, for what all have in common."""

    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    configuration: NamedConfiguration
    schedule_fields: tuple[str, ...] = ()

    @property
    def fields(self) -> list[str]:
        return [*(axis.field for axis in self.axes), *self.schedule_fields]


def read_sweep(config: str, overrides: Sequence[str], sweeps: Sequence[str]) -> Sweep:
    """The points of ``--sweep FIELD=A,B,…``, each of them checked.

    A combination that is refused is a point with its error, if each of its values is right in
    another one. Raises ``ConfigError`` for values that no point can have, fields that are given
    twice or lack values, and for more than ``MOST_POINTS`` points.
    """
    with damaged_as(ConfigError, "--sweep"):
        axes = tuple(read_axis(text) for text in sweeps)
    _require_once(axes, overrides)
    count = prod(len(axis.texts) for axis in axes)
    if count > MOST_POINTS:
        raise ConfigError([f"--sweep: {count:,} points: must be at most {MOST_POINTS:,}"])
    found: list[Point] = []
    first: NamedConfiguration | None = None
    for chosen in product(*(range(len(axis.texts)) for axis in axes)):
        pairs = list(zip(axes, chosen, strict=True))
        texts = tuple(axis.texts[at] for axis, at in pairs)
        values = {axis.field: axis.values[at] for axis, at in pairs}
        try:
            configuration = load_configuration(config, overrides, texts)
        except GnarlError as error:
            found.append(Point(texts, values, "", str(error)))
            continue
        first = first or configuration
        found.append(Point(texts, values, _digest(configuration), ""))
    _require_possible(axes, found)
    assert first is not None
    return Sweep(axes, tuple(found), first)


def read_axis(text: str) -> Axis:
    """The values of ``FIELD=A,B,…``; commas inside of quotes and brackets are part of a value.

    Raises ``ConfigError``.
    """
    field, equals, listed = text.partition("=")
    field = field.strip()
    parts = [part.strip() for part in _split(listed)]
    if not (equals and field and all(parts)):
        problem = "must be FIELD=A,B,…, a field of the configuration and values for it"
        raise ConfigError([f"--sweep {short(text)}: {problem}"])
    texts = tuple(f"{field}={part}" for part in parts)
    values = tuple(parse_override(each, "--sweep")[1] for each in texts)
    given: set[tuple[type, str]] = set()
    for part, value in zip(parts, values, strict=True):
        if (key := (type(value), repr(value))) in given:
            problem = f"{short(part)} is given twice: must be given once"
            raise ConfigError([f"--sweep {short(text)}: {problem}"])
        given.add(key)
    return Axis(field, texts, values)


def _split(listed: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for character in listed:
        if quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES:
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == "," and depth <= 0:
            parts.append("")
            continue
        parts[-1] += character
    return parts


def _require_once(axes: Sequence[Axis], overrides: Sequence[str]) -> None:
    is_set = {text.partition("=")[0].strip() for text in overrides}
    for at, axis in enumerate(axes):
        if axis.field in is_set:
            problem = "is given by --set, too: must be given once"
        elif axis.field in [each.field for each in axes[:at]]:
            problem = "is given twice: must be given once, with all of its values"
        else:
            continue
        raise ConfigError([f"--sweep {short(axis.texts[0])}: {axis.field} {problem}"])


def _require_possible(axes: Sequence[Axis], points: Sequence[Point]) -> None:
    """Raises ``ConfigError`` for a value with which there is no point that has a configuration."""
    for at, axis in enumerate(axes):
        for text in axis.texts:
            errors = [point.error for point in points if point.texts[at] == text]
            if all(errors):
                place = f"--sweep {text}"
                named = errors[0] if place in errors[0] else f"{place}: {errors[0]}"
                raise ConfigError([named])


def _digest(configuration: NamedConfiguration) -> str:
    """SHA-256 of all fields, the compiler's own among them, which ``TargetConfig.digest`` lacks."""
    text = json.dumps([configuration.target.name, configuration.config.to_dict()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
