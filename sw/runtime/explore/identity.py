"""What a sweep is: results of one are never taken for another's."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gnarl import __version__
from gnarl.sw.program.python_files import split_name
from gnarl.sw.runtime.explore.sweep import Sweep


def identity(sweep: Sweep, job: Mapping[str, Any]) -> dict[str, Any]:
    """What all results of a sweep have in common, JSON's types only; files by their contents.

    job
        the arguments of all points, see ``gnarl.sw.runtime.explore.point_run.run_point``.
    """
    digest = hashlib.sha256("".join(point.digest for point in sweep.points).encode())
    values = job["values"]
    return {
        "gnarl": __version__,
        "target": sweep.configuration.target.name,
        "sweep": {axis.field: list(axis.values) for axis in sweep.axes},
        "configuration": digest.hexdigest(),
        "workload": content_digest(job["source"]),
        "values": None if values is None else content_digest(values),
        "tensors": {name: content_digest(path) for name, path in sorted(job["tensors"].items())},
        "sizes": dict(sorted(job["sizes"].items())),
        "options": {name: _option(value) for name, value in sorted(job["options"].items())},
        "backend": job["backend"],
        "max_cycles": job["max_cycles"],
        "area": job["area"],
        "board": job["board"],
        "seed": job["seed"],
    }


def content_digest(source: str) -> str:
    """SHA-256 of what a source names: a file, all files of a folder, each with the name behind it
    if there is one, or else the text itself."""
    file, name = split_name(source)
    found = hashlib.sha256(name.encode(errors="surrogateescape"))
    path = Path(file)
    if path.is_dir():
        for each in sorted(each for each in path.rglob("*") if each.is_file()):
            found.update(os.fsencode(each.relative_to(path)))
            found.update(_file_digest(each))
    elif path.is_file():
        found.update(_file_digest(path))
    else:
        found.update(source.encode(errors="surrogateescape"))
    return found.hexdigest()


def _file_digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _option(value: Any) -> Any:
    return content_digest(str(value)) if isinstance(value, Path) else value
