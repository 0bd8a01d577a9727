"""Compiled programs, in memory and as files.

A file is a zip archive of ``manifest.json`` and one ``.npy`` member a section, which ``numpy.load``
reads without pickles. Equal programs are equal bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hw.lib.configuration import TargetConfig
from hw.lib.errors import ConfigError, ProgramError, damaged_as
from sw.program.atomic import atomic_path
from sw.program.schema import Schema, check_sections
from sw.targets import TARGETS

FORMAT_VERSION = 1

_SHOWN = 120
"""Characters of a field's value in error texts."""

_MANIFEST = "manifest.json"
_MANIFEST_FIELDS: dict[str, type] = {
    "version": int,
    "target": str,
    "digest": str,
    "config": dict,
    "format": str,
    "workload": str,
    "input_names": list,
    "output_names": list,
    "statistics": dict,
}


@dataclass(frozen=True)
class Program:
    """A program for one configuration of one target.

    target, config, digest
        the hardware: its target, its configuration's fields and their digest.
    format
        number format of inputs and outputs, a name of ``hw.lib.formats``.
    workload
        what reports call the program.
    input_names, output_names
        in the order of input and output values.
    statistics
        whole numbers from the compiler, by name.
    sections
        arrays, as the target's schema lists them; not to be changed.
    """

    target: str
    config: dict[str, Any]
    digest: str
    format: str
    workload: str
    input_names: list[str]
    output_names: list[str]
    statistics: dict[str, int]
    sections: dict[str, np.ndarray]

    def check(self) -> None:
        """Raises ``ProgramError`` naming the first field or section that is not as it must be."""
        if self.target not in TARGETS:
            raise ProgramError(f"target {self.target!r}: there are {', '.join(TARGETS)}")
        format = self.config.get("format", self.format)
        if self.format != format:
            raise ProgramError(
                f"format in {_MANIFEST} is {self.format}: must be {format}, as in config"
            )
        sizes = {"inputs": len(self.input_names), "outputs": len(self.output_names)}
        schema = _schema(self.target)
        for name in schema.statistics:
            if name not in self.statistics:
                raise ProgramError(f"statistics.{name} in {_MANIFEST} is missing")
        check_sections(schema, self.sections, self.config, sizes)

    def require(self, config: TargetConfig) -> None:
        """Raises ``ProgramError`` naming what differs if the program is not for ``config``.

        It may fill in fields that ``config`` leaves open, see ``sw.targets.Target.filled_in``.
        """
        filled_in = list(TARGETS[config.target].filled_in if config.target in TARGETS else ())
        open_fields = [name for name in filled_in if not config.to_dict()[name]]
        here = {"target": config.target, **config.to_dict()}
        there = {"target": self.target, **self.config}
        if self.target != config.target:
            here, there = {"target": config.target}, {"target": self.target}
        names = [
            name
            for name in dict.fromkeys([*here, *there])
            if name not in open_fields
            and (name not in here or name not in there or here[name] != there[name])
        ]
        # The others of these follow from the first: they need not be told.
        told = [name for name in names if name in filled_in][:1]
        differences = [
            f"{name} is {_shown(there, name)}, must be {_shown(here, name)}"
            for name in names
            if name not in filled_in or name in told
        ]
        if not differences:
            try:
                digest = type(config).from_dict(self.config).digest
            except ConfigError as error:
                raise ProgramError(f"config in {_MANIFEST}: {error}") from error
            if self.digest != digest:
                differences = [f"digest is {self.digest}, must be {digest}"]
        if differences:
            raise ProgramError(f"program for another configuration: {'; '.join(differences)}")

    def save(self, path: str | Path) -> None:
        """Writes the file, whole or not at all. Raises ``ProgramError`` as ``check`` does."""
        self.check()
        manifest = {
            "version": FORMAT_VERSION,
            **{name: getattr(self, name) for name in _MANIFEST_FIELDS if name != "version"},
        }
        _check_manifest(manifest)
        with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
            _write(archive, _MANIFEST, json.dumps(manifest, indent=1).encode())
            for section in _schema(self.target).sections:
                octets = io.BytesIO()
                array = np.asarray(self.sections[section.name], order="C")
                np.lib.format.write_array(octets, array, allow_pickle=False)
                _write(archive, f"{section.name}.npy", octets.getvalue())

    @classmethod
    def load(cls, path: str | Path, config: TargetConfig | None = None) -> Program:
        """Reads a file and checks all of it, and that it is for ``config`` where one is given.

        Raises ``ProgramError``, which names the file and the field, and ``OSError`` if the file
        cannot be read.
        """
        try:
            octets = Path(path).read_bytes()
            with damaged_as(ProgramError, "contents"):
                program = _read(octets)
                if config is not None:
                    program.require(config)
                program.check()
        except ProgramError as error:
            raise ProgramError(f"{path}: {error}") from error
        return program


def _schema(target: str) -> Schema:
    return TARGETS[target].part("schema")


def _shown(values: Mapping[str, Any], name: str) -> str:
    if name not in values:
        return "missing"
    text = str(values[name])
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _write(archive: zipfile.ZipFile, name: str, octets: bytes) -> None:
    # A ZipInfo of its own has a fixed date, so that the file depends on nothing but its contents.
    archive.writestr(zipfile.ZipInfo(name), octets)


def _read(octets: bytes) -> Program:
    try:
        # Reading a member to its end compares its checksum.
        with zipfile.ZipFile(io.BytesIO(octets)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    # The errors that zipfile raises on some damaged file or other.
    except (zipfile.BadZipFile, EOFError, ValueError, OSError, RuntimeError) as error:
        raise ProgramError(f"not a program file, or damaged: {error}") from error
    if _MANIFEST not in members:
        raise ProgramError(f"{_MANIFEST} is missing: not a program file")
    manifest = _manifest(members.pop(_MANIFEST))
    sections = {}
    for member, content in members.items():
        name = member.removesuffix(".npy")
        try:
            sections[name] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ProgramError(f"section {name!r} is damaged: {error}") from error
    return Program(sections=sections, **manifest)


def _manifest(text: bytes) -> dict[str, Any]:
    """The fields of ``Program`` but for its sections."""
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise ProgramError(f"{_MANIFEST} is damaged: {error}") from error
    if not isinstance(manifest, dict) or "version" not in manifest:
        raise ProgramError(f"{_MANIFEST} has no version")
    if manifest["version"] != FORMAT_VERSION:
        raise ProgramError(
            f"version {manifest['version']} of program files: "
            f"this Gnarl reads version {FORMAT_VERSION}"
        )
    _check_manifest(manifest)
    del manifest["version"]
    return manifest


def _check_manifest(manifest: Mapping[str, Any]) -> None:
    for name in manifest:
        if name not in _MANIFEST_FIELDS:
            raise ProgramError(f"{_MANIFEST} has an unknown field {name!r}")
    for name, kind in _MANIFEST_FIELDS.items():
        if name not in manifest:
            raise ProgramError(f"{_MANIFEST} has no {name}")
        if type(manifest[name]) is not kind:
            raise ProgramError(
                f"{name} in {_MANIFEST} is {manifest[name]!r}: must be of type {kind.__name__}"
            )
    for name in ("input_names", "output_names"):
        for index, value in enumerate(manifest[name]):
            if type(value) is not str:
                raise ProgramError(f"{name}[{index}] in {_MANIFEST} is {value!r}: must be a name")
    for name, value in manifest["statistics"].items():
        if type(value) is not int:
            raise ProgramError(
                f"statistics.{name} in {_MANIFEST} is {value!r}: must be a whole number"
            )
