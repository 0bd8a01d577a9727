"""Compiled programs: one launch or several, each with what one machine is given.

A program's file is an archive of a manifest and the launches' sections, see
``gnarl.sw.program.manifest``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gnarl.hw.lib.configuration import TargetConfig
from gnarl.hw.lib.errors import ConfigError, GnarlError, ProgramError, damaged_as, quoted
from gnarl.sw.program.archive import read_archive, write_archive
from gnarl.sw.program.display import html_table, tensors_text
from gnarl.sw.program.host_step import HostStep
from gnarl.sw.program.launch import Launch
from gnarl.sw.program.manifest import (
    check_fields,
    decode_steps,
    decode_tensors,
    encode,
    named,
    take_sections,
)
from gnarl.sw.program.schema import Schema, check_sections
from gnarl.sw.program.tensor_spec import Ragged, TensorSpec

_SHOWN = 120
"""Characters of a field's value in error texts."""


@dataclass(frozen=True, repr=False)
class Program:
    """A program for one configuration of one target, or for several that the target allows.

    target, config, digest
        the hardware: its target, its configuration's fields and their digest.
    workload
        what reports call the program.
    inputs, outputs
        the tensors that a run takes and returns. Sizes may be left open, see ``TensorSpec``.
    launches
        in the order in which they run.
    schema
        of the launches' sections.
    steps
        what the host does between launches, each after those that it takes.
    """

    target: str
    config: dict[str, Any]
    digest: str
    workload: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    launches: tuple[Launch, ...]
    schema: Schema = field(repr=False, compare=False)
    steps: tuple[HostStep, ...] = ()

    @classmethod
    def of_one_launch(
        cls,
        config: TargetConfig,
        workload: str,
        inputs: tuple[TensorSpec, ...],
        outputs: tuple[TensorSpec, ...],
        *,
        statistics: Mapping[str, int],
        schema: Schema,
        sections: Mapping[str, np.ndarray] = {},
    ) -> Program:
        """The program that starts one machine once."""
        fields, digest = config.to_dict(), config.digest
        launch = Launch(workload, inputs, outputs, statistics, sections, fields, digest)
        return cls(config.target, fields, digest, workload, inputs, outputs, (launch,), schema)

    def __repr__(self) -> str:
        launches = f", {len(self.launches)} launches" if len(self.launches) != 1 else ""
        return (
            f"<Program {self.workload!r} for {self.target}{launches}: from "
            f"{tensors_text(self.inputs)} to {tensors_text(self.outputs)}>"
        )

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        rows = [
            ("target", self.target),
            ("configuration", self.digest[:12]),
            ("inputs", tensors_text(self.inputs)),
            ("outputs", tensors_text(self.outputs)),
            ("launches", str(len(self.launches))),
            *((name.replace("_", " "), f"{count:,}") for name, count in self.statistics.items()),
        ]
        return html_table(f"program {self.workload}", rows)

    @property
    def statistics(self) -> dict[str, int]:
        """The sums of all launches'."""
        return totals(launch.statistics for launch in self.launches)

    def check(self) -> None:
        """Raises ``ProgramError`` naming the first field or section that is invalid."""
        known: dict[str, TensorSpec] = {}
        _add(known, self.inputs)
        self._add_made(known)
        if not self.launches:
            raise ProgramError("launches: must be at least one")
        for number, launch in enumerate(self.launches):
            place = f"launch {number} ({launch.name}): " if len(self.launches) > 1 else ""
            try:
                if launch.name in [earlier.name for earlier in self.launches[:number]]:
                    raise ProgramError("name: an earlier launch has it")
                self._check_launch(launch, known)
            except ProgramError as error:
                raise ProgramError(f"{place}{error}") from error
            self._add_made(known)
        for step in self.steps:
            if step.output.name not in known:
                raise ProgramError(f"step {step.output.name}: no launch writes what it takes")
        for spec in self.outputs:
            if spec.name not in known:
                raise ProgramError(f"output {spec.name}: no launch writes it")
        _add(known, self.outputs)
        for spec in known.values():
            if isinstance(spec.storage, Ragged) and spec.storage.offsets not in known:
                raise ProgramError(f"tensor {spec.name}: no offsets {spec.storage.offsets}")

    def _add_made(self, known: dict[str, TensorSpec]) -> None:
        """Adds what the host can make of the tensors that are known."""
        for step in self.steps:
            if step.output.name not in known and all(each.name in known for each in step.inputs):
                try:
                    _add(known, (*step.inputs, step.output))
                    if self.schema.check_step is None:
                        raise ProgramError(f"programs for {self.target} have no steps")
                    self.schema.check_step(step)
                except ProgramError as error:
                    raise ProgramError(f"step {step.output.name}: {error}") from error

    def _check_launch(self, launch: Launch, known: dict[str, TensorSpec]) -> None:
        for spec in launch.inputs:
            if spec.name not in known:
                raise ProgramError(f"input {spec.name}: no earlier launch writes it")
        _add(known, launch.inputs)
        _add(known, launch.outputs)
        for name in self.schema.statistics:
            if name not in launch.statistics:
                raise ProgramError(f"statistics.{name} is missing")
        check_sections(self.schema, launch)

    def differences(self, config: TargetConfig, filled_in: tuple[str, ...] = ()) -> list[str]:
        """What of ``config`` is not as the program needs it, a text each.

        ``filled_in``: fields that the program may set where ``config`` leaves them open.
        """
        here, there = config.to_dict(), self.config
        open_fields = [name for name in filled_in if not here.get(name)]
        names = [name for name in _different(here, there) if name not in open_fields]
        # The others of these follow from the first: one is enough.
        first = [name for name in names if name in filled_in][:1]
        texts = [
            f"{name} is {_shown(there, name)}, must be {_shown(here, name)}"
            for name in names
            if name not in filled_in or name in first
        ]
        hardware = {self.digest: self.config, **{one.digest: one.config for one in self.launches}}
        return texts or [
            text
            for digest, fields in hardware.items()
            if (text := _disagreement(type(config), fields, digest))
        ]

    def save(self, path: str | Path) -> None:
        """Writes the file, whole or not at all. Raises ``ProgramError`` as ``check`` does."""
        self.check()
        write_archive(path, *self.encoded())

    def encoded(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Manifest and arrays of the file. Raises ``ProgramError`` for fields that JSON does not
        hold."""
        fields = {
            "target": self.target,
            "digest": self.digest,
            "config": self.config,
            "workload": self.workload,
        }
        sections = [section.name for section in self.schema.sections]
        return encode(fields, self.inputs, self.outputs, self.launches, sections, self.steps)

    @classmethod
    def load(
        cls,
        path: str | Path,
        schema_of: Callable[[str], Schema],
        require: Callable[[Program], None] = lambda program: None,
    ) -> Program:
        """Reads a file and checks all of it.

        ``schema_of`` gives the schema of a target's programs, or raises ``ProgramError``;
        ``require`` raises it for a program that the caller does not want, before sections are
        checked. Raises ``ProgramError``, which names the file and the field, and ``OSError`` if
        the file cannot be read.
        """
        try:
            octets = Path(path).read_bytes()
            with damaged_as(ProgramError, "contents"):
                program = cls._decode(octets, schema_of)
                require(program)
                program.check()
        except GnarlError as error:
            raise ProgramError(f"{path}: {error}") from error
        return program

    @classmethod
    def _decode(cls, octets: bytes, schema_of: Callable[[str], Schema]) -> Program:
        manifest, arrays = read_archive(octets)
        check_fields(manifest)
        schema = schema_of(manifest["target"])
        tensors = decode_tensors(manifest, arrays)
        count = len(manifest["launches"])
        launches = tuple(
            Launch(
                fields["name"],
                named(fields["inputs"], tensors, f"launches[{number}].inputs"),
                named(fields["outputs"], tensors, f"launches[{number}].outputs"),
                fields["statistics"],
                take_sections(arrays, number, count),
                manifest["config"] if fields["config"] is None else fields["config"],
                manifest["digest"] if fields["digest"] is None else fields["digest"],
            )
            for number, fields in enumerate(manifest["launches"])
        )
        for name in arrays:
            raise ProgramError(f"unknown section {quoted(name)}")
        return cls(
            manifest["target"],
            manifest["config"],
            manifest["digest"],
            manifest["workload"],
            named(manifest["inputs"], tensors, "inputs"),
            named(manifest["outputs"], tensors, "outputs"),
            launches,
            schema,
            decode_steps(manifest, tensors),
        )


def totals(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Sums by name."""
    sums: dict[str, int] = {}
    for each in counts:
        for name, count in each.items():
            sums[name] = sums.get(name, 0) + count
    return sums


def _add(known: dict[str, TensorSpec], specs: tuple[TensorSpec, ...]) -> None:
    """Raises ``ProgramError`` for a tensor that is known with another specification."""
    for spec in specs:
        if known.setdefault(spec.name, spec) != spec:
            raise ProgramError(f"tensor {spec.name}: specified twice, and differently")


def _disagreement(kind: type[TargetConfig], fields: dict[str, Any], digest: str) -> str:
    """Why a configuration's fields and digest do not go together; empty if they do."""
    try:
        expected = kind.from_dict(fields).digest
    except ConfigError as error:
        return f"config in the program: {error}"
    return "" if digest == expected else f"digest is {digest}, must be {expected}"


def _different(here: Mapping[str, Any], there: Mapping[str, Any]) -> list[str]:
    """Fields that one has, or both with different values."""
    return [
        name
        for name in dict.fromkeys([*here, *there])
        if name not in here or name not in there or here[name] != there[name]
    ]


def _shown(values: Mapping[str, Any], name: str) -> str:
    if name not in values:
        return "missing"
    text = str(values[name])
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
