"""Zip archives of a JSON manifest and arrays, which ``numpy.load`` reads without pickles.

Equal contents are equal bytes.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import ProgramError, quoted
from gnarl.sw.program.atomic import atomic_path
from gnarl.sw.program.npz import ArrayFileError, Npz, array_names, member_names, write_npz
from gnarl.sw.program.unique_keys import unique_keys

MANIFEST = "manifest.json"


def write_archive(
    path: str | Path, manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Writes the file, whole or not at all."""
    with atomic_path(path) as temporary:
        write_npz(temporary, arrays, {MANIFEST: json.dumps(manifest, indent=1).encode()})


def read_archive(octets: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Manifest and arrays. Raises ``ProgramError`` for what ``write_archive`` does not write."""
    try:
        archive = Npz(io.BytesIO(octets))
    except ArrayFileError as error:
        raise ProgramError(f"not a program file, or damaged: {error}") from error
    if MANIFEST not in archive.others:
        raise ProgramError(f"{MANIFEST} is missing: not a program file")
    for name in archive.others:
        if name != MANIFEST:
            raise ProgramError(f"unknown section {quoted(name)}")
    try:
        manifest = json.loads(archive.read(MANIFEST), object_pairs_hook=unique_keys)
        arrays = {name: archive.array(name) for name in archive.arrays}
    except ArrayFileError as error:
        raise ProgramError(str(error)) from error
    except ValueError as error:
        raise ProgramError(f"{MANIFEST} is damaged: {error}") from error
    if not isinstance(manifest, dict):
        raise ProgramError(f"{MANIFEST} is damaged: must be an object")
    return manifest, arrays


def is_archive(path: str | Path) -> bool:
    """Whether a file is such an archive, perhaps a damaged one: other zip files have neither a
    manifest nor arrays, or they are ``is_sparse_matrix``."""
    names = _names(path)
    arrays = array_names(names)
    return MANIFEST in names or (bool(arrays) and not has_sparse_matrix(arrays))


def is_sparse_matrix(path: str | Path) -> bool:
    """Whether a file is what ``scipy.sparse.save_npz`` writes, perhaps damaged, and no program."""
    names = _names(path)
    return MANIFEST not in names and has_sparse_matrix(array_names(names))


def has_sparse_matrix(arrays: Collection[str]) -> bool:
    """Whether arrays of these names are a matrix as SciPy stores it, perhaps damaged: one of them
    says in which format, and there is something that could be stored so."""
    return "format" in arrays and ("data" in arrays or "shape" in arrays)


def _names(path: str | Path) -> list[str]:
    """Names of members; none of what is no zip file."""
    try:
        return member_names(path)
    except ArrayFileError:
        return []
