"""Programs as manifests and arrays, for files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import ProgramError, quoted, short
from gnarl.sw.program.archive import MANIFEST
from gnarl.sw.program.host_step import HostStep
from gnarl.sw.program.launch import Launch
from gnarl.sw.program.tensor_spec import Labelled, Labels, TensorSpec, decode_labels, encode_labels

VERSION = 3
"""Version of program files; rises when a field or section changes its meaning."""

_FIELDS: dict[str, type] = {
    "version": int,
    "target": str,
    "digest": str,
    "config": dict,
    "workload": str,
    "tensors": list,
    "inputs": list,
    "outputs": list,
    "launches": list,
}
_LAUNCH_FIELDS: dict[str, type] = {
    "name": str,
    "inputs": list,
    "outputs": list,
    "statistics": dict,
    "config": dict,
    "digest": str,
}
_STEP_FIELDS: dict[str, type] = {"inputs": list, "output": str, "text": str}
_LABELS = "labels/"


def encode(
    fields: Mapping[str, Any],
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec],
    launches: Sequence[Launch],
    sections: Sequence[str],
    steps: Sequence[HostStep] = (),
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Manifest and arrays of a program. Raises ``ProgramError`` for fields that JSON does not hold.

    fields
        the program's target, digest, config and workload.
    inputs, outputs
        tensors that a run takes and returns.
    sections
        names of arrays that each launch has.
    steps
        what the host does between launches.
    """
    tensors: dict[str, TensorSpec] = {}
    for launch in launches:
        tensors |= {spec.name: spec for spec in (*launch.inputs, *launch.outputs)}
    tensors |= {spec.name: spec for step in steps for spec in (*step.inputs, step.output)}
    tensors |= {spec.name: spec for spec in (*inputs, *outputs)}
    manifest = {
        "version": VERSION,
        **fields,
        "tensors": [spec.to_dict() for spec in tensors.values()],
        "inputs": _names(inputs),
        "outputs": _names(outputs),
        "launches": [_launch_fields(launch, fields["digest"]) for launch in launches],
    }
    if steps:
        manifest["steps"] = [_step_fields(step) for step in steps]
    check_fields(manifest)
    arrays: dict[str, np.ndarray] = {}
    for number, launch in enumerate(launches):
        prefix = _prefix(number, len(launches))
        for section in sections:
            arrays[f"{prefix}{section}"] = launch.sections[section]
    for spec in tensors.values():
        if isinstance(spec.storage, Labelled):
            arrays[f"{_LABELS}{spec.name}"] = encode_labels(spec.storage.labels)
    return manifest, arrays


def check_fields(manifest: Mapping[str, Any]) -> None:
    """Raises ``ProgramError`` naming the first field that is missing, unknown or of another type.

    Manifests of other versions are refused.
    """
    version = manifest.get("version")
    if version != VERSION:
        raise ProgramError(
            f"version {short(version)} of program files: this Gnarl reads version {VERSION}: "
            "compile the workload again"
        )
    _check_types(manifest, {**_FIELDS, **({"steps": list} if "steps" in manifest else {})}, "")
    _check_name(manifest["workload"], "workload")
    for number, step in enumerate(manifest.get("steps", ())):
        place = f"steps[{number}]"
        if not isinstance(step, dict):
            raise ProgramError(f"{place} in {MANIFEST} is {quoted(step)}: must be an object")
        _check_types(step, _STEP_FIELDS, f"{place}.")
    for number, launch in enumerate(manifest["launches"]):
        place = f"launches[{number}]"
        if not isinstance(launch, dict):
            raise ProgramError(f"{place} in {MANIFEST} is {quoted(launch)}: must be an object")
        fields = dict(launch)
        types = dict(_LAUNCH_FIELDS)
        # Both null: the program's.
        if fields.get("config", 0) is None is fields.get("digest", 0):
            for name in ("config", "digest"):
                del fields[name], types[name]
        _check_types(fields, types, f"{place}.")
        _check_name(launch["name"], f"{place}.name")
        for name, value in launch["statistics"].items():
            if type(value) is not int:
                raise ProgramError(
                    f"{place}.statistics.{short(name)} in {MANIFEST} is {quoted(value)}: must be a "
                    "whole number"
                )


def decode_tensors(
    manifest: Mapping[str, Any], arrays: dict[str, np.ndarray]
) -> dict[str, TensorSpec]:
    """The tensors by name; takes their labels from ``arrays``."""
    specs: dict[str, TensorSpec] = {}
    for number, fields in enumerate(manifest["tensors"]):
        spec = TensorSpec.from_dict(fields, _labels(fields, arrays))
        _check_name(spec.name, f"tensors[{number}].name")
        if spec.name in specs:
            raise ProgramError(f"tensor {short(spec.name)}: given twice in {MANIFEST}")
        specs[spec.name] = spec
    return specs


def named(
    names: Sequence[Any], tensors: Mapping[str, TensorSpec], field: str
) -> tuple[TensorSpec, ...]:
    """The tensors that a field lists. Raises ``ProgramError`` for a name that is not one."""
    for index, name in enumerate(names):
        if not isinstance(name, str) or name not in tensors:
            raise ProgramError(
                f"{field}[{index}] in {MANIFEST} is {quoted(name)}: must be a tensor"
            )
    return tuple(tensors[name] for name in names)


def decode_steps(
    manifest: Mapping[str, Any], tensors: Mapping[str, TensorSpec]
) -> tuple[HostStep, ...]:
    """What the host does between launches. Raises ``ProgramError`` for a name that is no
    tensor's."""
    return tuple(
        HostStep(
            named(fields["inputs"], tensors, f"steps[{number}].inputs"),
            named([fields["output"]], tensors, f"steps[{number}].output")[0],
            fields["text"],
        )
        for number, fields in enumerate(manifest.get("steps", ()))
    )


def take_sections(arrays: dict[str, np.ndarray], number: int, count: int) -> dict[str, np.ndarray]:
    """Removes the sections of launch ``number`` of ``count``; returns them by name."""
    prefix = _prefix(number, count)
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}


def _labels(fields: Any, arrays: dict[str, np.ndarray]) -> Labels | None:
    """Removes the labels of a tensor; ``None`` where there are none."""
    name = f"{_LABELS}{fields.get('name')}" if isinstance(fields, dict) else ""
    if name not in arrays or fields.get("storage", {}).get("kind") != Labelled.kind:
        return None
    try:
        return decode_labels(arrays.pop(name))
    except ValueError as error:
        raise ProgramError(f"section {quoted(name)} {error}") from error


def _prefix(number: int, count: int) -> str:
    return "" if count == 1 else f"launch{number}/"


def _step_fields(step: HostStep) -> dict[str, Any]:
    return {"inputs": _names(step.inputs), "output": step.output.name, "text": step.text}


def _names(specs: Sequence[TensorSpec]) -> list[str]:
    return [spec.name for spec in specs]


def _launch_fields(launch: Launch, digest: str) -> dict[str, Any]:
    """``config`` and ``digest`` are null where they are the program's, of this digest."""
    own = launch.digest != digest
    return {
        "name": launch.name,
        "inputs": _names(launch.inputs),
        "outputs": _names(launch.outputs),
        "statistics": dict(launch.statistics),
        "config": launch.config if own else None,
        "digest": launch.digest if own else None,
    }


def _check_name(name: str, field: str) -> None:
    """Raises ``ProgramError`` unless a display name is printable."""
    if not name.isprintable():
        raise ProgramError(f"{field} in {MANIFEST} is {name!r}: must be printable characters")


def _check_types(fields: Mapping[str, Any], types: Mapping[str, type], place: str) -> None:
    for name in fields:
        if name not in types:
            raise ProgramError(f"{MANIFEST} has an unknown field {quoted(f'{place}{name}')}")
    for name, kind in types.items():
        if name not in fields:
            raise ProgramError(f"{MANIFEST} has no {place}{name}")
        if type(fields[name]) is not kind:
            raise ProgramError(
                f"{place}{name} in {MANIFEST} is {quoted(fields[name])}: must be of type "
                f"{kind.__name__}"
            )
