"""Schedules on disk: what ``gnarl tune`` writes, and later runs load.

A file is one JSON object: format and version, the fields of ``ScheduleSet``, each schedule on a
line of its own. Equal schedules are equal texts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import WorkloadError, damaged_as, quoted, short
from gnarl.sw.compiler.cuda.config import BLOCK_THREADS, CudaConfig
from gnarl.sw.compiler.cuda.occupancy import maximum_blocks
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.templates import template, templates
from gnarl.sw.program.atomic import write_text
from gnarl.sw.workloads.embedding.model import EmbeddingModel
from gnarl.sw.workloads.text_file import parse_json, read_text

VERSION = 1
"""Version of the format; rises when a field changes its meaning or goes."""

_PLAIN: dict[str, type] = {
    "model": str,
    "arch": str,
    "block_threads": int,
    "blocks_per_sm": int,
    "origin": str,
}
_FIELDS = {"version": int, **_PLAIN, "schedules": list, "of_feature": list}
_KINDS = {int: "a whole number", str: "a text", list: "a list", dict: "an object"}


def save(path: str | Path, schedules: ScheduleSet) -> None:
    """Writes a file, whole or not at all."""
    write_text(path, to_text(schedules))


def load(path: str | Path, model: EmbeddingModel, config: CudaConfig) -> ScheduleSet:
    """Reads what ``save`` wrote. Raises ``WorkloadError`` naming the file as ``from_text`` does."""
    return from_text(read_text(path), model, config, str(path))


def to_text(schedules: ScheduleSet) -> str:
    fields = {"version": VERSION, **{name: getattr(schedules, name) for name in _PLAIN}}
    lines = [f"{json.dumps(name)}: {json.dumps(value)}," for name, value in fields.items()]
    entries = [
        json.dumps({"template": schedule.template, "parameters": dict(schedule.parameters)})
        for schedule in schedules.schedules
    ]
    return "\n".join(
        [
            "{",
            *lines,
            '"schedules": [',
            ",\n".join(entries),
            "],",
            f'"of_feature": {json.dumps(list(schedules.of_feature))}',
            "}\n",
        ]
    )


def from_text(text: str, model: EmbeddingModel, config: CudaConfig, place: str) -> ScheduleSet:
    """The schedules in a file's text, for a model on a configuration.

    Raises ``WorkloadError`` that begins with ``place``: for damaged JSON with its line, for another
    model, architecture or size of blocks, for unknown templates, parameters and values, for
    templates of which some have warps as workers and some blocks, and for a schedule that cannot
    compute its feature, with the reason.
    """
    with damaged_as(WorkloadError, place):
        data = parse_json(text, place)
        if not isinstance(data, dict):
            raise WorkloadError(f"{place}: must be a JSON object, as gnarl tune writes it")
        _check_fields(data, place)
        _check_target(data, model, config, place)
        schedules: dict[Schedule, int] = {}
        for at, entry in enumerate(data["schedules"]):
            first = schedules.setdefault(_schedule(entry, f"{place}: schedules[{at}]"), at)
            if first != at:
                raise WorkloadError(f"{place}: schedules[{at}]: duplicates schedules[{first}]")
        _check_workers(list(schedules), place)
        _check_features(data["of_feature"], list(schedules), model, data["block_threads"], place)
    return ScheduleSet(
        schedules=tuple(schedules),
        of_feature=tuple(data["of_feature"]),
        **{name: data[name] for name in _PLAIN},
    )


def check(schedules: ScheduleSet, model: EmbeddingModel, config: CudaConfig) -> None:
    """Raises ``WorkloadError`` for schedules that no file may have, as ``from_text`` does."""
    from_text(to_text(schedules), model, config, "schedules")


def _check_fields(data: dict[str, Any], place: str) -> None:
    """Raises ``WorkloadError`` unless all fields, and no others, have values of their types."""
    for name in data:
        if name not in _FIELDS:
            raise WorkloadError(
                f"{place}: {short(name)}: no such field; there are {', '.join(_FIELDS)}"
            )
    for name, kind in _FIELDS.items():
        if name not in data:
            raise WorkloadError(f"{place}: {name} is missing")
        _require(data[name], kind, f"{place}: {name}")
    if data["version"] != VERSION:
        raise WorkloadError(f"{place}: version = {data['version']}: must be {VERSION}")


def _check_target(
    data: dict[str, Any], model: EmbeddingModel, config: CudaConfig, place: str
) -> None:
    """Raises ``WorkloadError`` unless the schedules are for this model, architecture and block
    size."""
    features = len(data["of_feature"])
    if features != len(model.features):
        raise WorkloadError(
            f"{place}: of_feature: is for a model of {features:,} features, but "
            f"{model.name} has {len(model.features):,}"
        )
    if data["model"] != model.digest:
        raise WorkloadError(
            f"{place}: model = {short(data['model'])}: does not match {model.name}, "
            f"which is {short(model.digest)}"
        )
    for name, allowed in (
        ("arch", (config.arch,)),
        ("block_threads", (config.block_threads,) if config.block_threads else BLOCK_THREADS),
    ):
        if data[name] not in allowed:
            wanted = allowed[0] if len(allowed) == 1 else allowed
            raise WorkloadError(
                f"{place}: {name} = {quoted(data[name])}: must be {wanted!r}, as in the "
                "configuration"
            )
    most = maximum_blocks(config.arch, data["block_threads"])
    if not 1 <= data["blocks_per_sm"] <= most:
        raise WorkloadError(
            f"{place}: blocks_per_sm = {data['blocks_per_sm']}: must be from 1 to {most}"
        )


def _schedule(entry: Any, place: str) -> Schedule:
    _require(entry, dict, place)
    if set(entry) != {"template", "parameters"}:
        raise WorkloadError(f"{place}: must have the fields template and parameters")
    name, values = entry["template"], entry["parameters"]
    if name not in templates():
        raise WorkloadError(
            f"{place}: template = {quoted(name)}: must be one of {', '.join(templates())}"
        )
    _require(values, dict, f"{place}: parameters")
    parameters = template(name).parameters
    known = [parameter.name for parameter in parameters]
    for given in values:
        if given not in known:
            raise WorkloadError(
                f"{place}: parameters of {name}: {short(given)}: no such parameter; "
                f"there are {', '.join(known)}"
            )
    for parameter in parameters:
        if parameter.name not in values:
            raise WorkloadError(f"{place}: parameters of {name}: {parameter.name} is missing")
        value = values[parameter.name]
        if type(value) is not int or value not in parameter.values:
            raise WorkloadError(
                f"{place}: parameters of {name}: {parameter.name} = {quoted(value)}: "
                f"must be one of {', '.join(map(str, parameter.values))}"
            )
    return Schedule(name, tuple((given, values[given]) for given in known))


def _check_workers(schedules: Sequence[Schedule], place: str) -> None:
    """Raises ``WorkloadError`` unless the workers of all templates are the same."""
    for at, schedule in enumerate(schedules):
        first = template(schedules[0].template)
        if template(schedule.template).workers != first.workers:
            raise WorkloadError(
                f"{place}: schedules[{at}]: template = {schedule.template!r}: must be one whose "
                f"workers are {first.workers}, as those of {first.name}"
            )


def _check_features(
    of_feature: list[Any],
    schedules: list[Schedule],
    model: EmbeddingModel,
    block_threads: int,
    place: str,
) -> None:
    """Raises ``WorkloadError`` unless every feature has a schedule that can compute it, and every
    schedule a feature."""
    for at, (number, feature) in enumerate(zip(of_feature, model.features, strict=True)):
        if type(number) is not int or not 0 <= number < len(schedules):
            raise WorkloadError(
                f"{place}: of_feature[{at}] = {quoted(number)}: "
                f"must be a whole number from 0 to {len(schedules) - 1}"
            )
        schedule = schedules[number]
        reason = template(schedule.template).refusal(schedule, feature, block_threads)
        if reason:
            raise WorkloadError(
                f"{place}: of_feature[{at}]: {schedule} cannot compute feature "
                f"{feature.name}: {reason}"
            )
    if unused := set(range(len(schedules))).difference(of_feature):
        raise WorkloadError(f"{place}: schedules[{min(unused)}]: no feature uses it")


def _require(value: Any, kind: type, place: str) -> None:
    if type(value) is not kind:
        raise WorkloadError(f"{place}: must be {_KINDS[kind]}")
