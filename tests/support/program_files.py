"""Program files, damaged on purpose."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np


def with_member(program: Path, name: str, content: bytes | None) -> None:
    """Replaces, or with ``None`` drops, one member of a program file, checksums included."""
    with zipfile.ZipFile(program) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    members[name] = content or b""
    if content is None:
        del members[name]
    with zipfile.ZipFile(program, "w") as archive:
        for member, octets in members.items():
            archive.writestr(member, octets)


def manifest_of(program: Path) -> dict[str, Any]:
    with zipfile.ZipFile(program) as archive:
        manifest: dict[str, Any] = json.loads(archive.read("manifest.json"))
    return manifest


def with_manifest(program: Path, **fields: Any) -> None:
    with_member(program, "manifest.json", json.dumps({**manifest_of(program), **fields}).encode())


def array_bytes(array: np.ndarray) -> bytes:
    octets = io.BytesIO()
    np.save(octets, array)
    return octets.getvalue()


def array_of(octets: bytes) -> np.ndarray:
    return np.load(io.BytesIO(octets))
