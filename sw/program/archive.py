"""Zip archives of a JSON manifest and arrays, which ``numpy.load`` reads without pickles.

Equal contents are equal bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hw.lib.errors import ProgramError
from sw.program.atomic import atomic_path

MANIFEST = "manifest.json"


def write_archive(
    path: str | Path, manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Writes the file, whole or not at all."""
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        _write(archive, MANIFEST, json.dumps(manifest, indent=1).encode())
        for name, array in arrays.items():
            octets = io.BytesIO()
            ordered = np.asarray(array, order="C")
            np.lib.format.write_array(octets, ordered, allow_pickle=False)
            _write(archive, f"{name}.npy", octets.getvalue())


def read_archive(octets: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Manifest and arrays. Raises ``ProgramError`` for what ``write_archive`` does not write."""
    try:
        # Reading a member to its end compares its checksum.
        with zipfile.ZipFile(io.BytesIO(octets)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    # The errors that zipfile raises on some damaged file or other.
    except (zipfile.BadZipFile, EOFError, ValueError, OSError, RuntimeError) as error:
        raise ProgramError(f"not a program file, or damaged: {error}") from error
    if MANIFEST not in members:
        raise ProgramError(f"{MANIFEST} is missing: not a program file")
    try:
        manifest = json.loads(members.pop(MANIFEST))
    except ValueError as error:
        raise ProgramError(f"{MANIFEST} is damaged: {error}") from error
    if not isinstance(manifest, dict):
        raise ProgramError(f"{MANIFEST} is damaged: must be an object")
    arrays = {}
    for member, content in members.items():
        name = member.removesuffix(".npy")
        try:
            arrays[name] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ProgramError(f"section {name!r} is damaged: {error}") from error
    return manifest, arrays


def _write(archive: zipfile.ZipFile, name: str, octets: bytes) -> None:
    # A ZipInfo of its own has a fixed date, so that the file depends on nothing but its contents.
    archive.writestr(zipfile.ZipInfo(name), octets)
