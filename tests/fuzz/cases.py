"""Cases by seed and number: what is damaged, how, and the command that reads it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.fuzz.damage_archive import ARCHIVE
from tests.fuzz.damage_bytes import BYTES
from tests.fuzz.damage_json import TREE
from tests.fuzz.damage_npy import NPY
from tests.fuzz.damage_options import OPTIONS
from tests.fuzz.damage_path import PATH
from tests.fuzz.damage_python import PYTHON
from tests.fuzz.damage_rows import ROW_DAMAGE
from tests.fuzz.damage_text import TEXT, Change
from tests.fuzz.damage_torch import TORCH
from tests.fuzz.damage_words import damage_words, rename
from tests.fuzz.formats import FORMATS, Format

Damage = Callable[[bytes, Random], bytes]

ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8", "utf-8", "utf-8", "ascii", "latin-1")
"""Of the command's output."""

LARGEST = 1 << 18
"""Octets of a file that is damaged once more: some damage makes files a thousand times larger."""

_PATHS = 1 / 12
"""Share of cases in which something else is where the file should be."""


@dataclass(frozen=True)
class Case:
    seed: int
    number: int
    format: Format
    command: tuple[str, ...]
    damage: str
    encoding: str


def make_case(seed: int, number: int, valid: Path, folder: Path) -> Case:
    """Fills ``folder``, a new one, with the files of ``valid``, and damages what the case says."""
    random = Random(f"{seed} {number}")
    format = FORMATS[number % len(FORMATS)]
    command = list(random.choice(format.commands))
    shutil.copytree(valid, folder)
    done = []
    for _ in range(random.choice((1, 1, 1, 1, 2, 3))):
        if format.kind == "words":
            command = damage_words(command, random)
            continue
        if format.kind == "options":
            command = random.choice(OPTIONS)(command, random)
            continue
        files = sorted(path for pattern in format.files for path in folder.glob(pattern))
        if not files:  # renamed
            break
        path = random.choice(files)
        if format.kind == "name":
            command = rename(folder, path, command, random)
            continue
        if path.stat().st_size > LARGEST:
            break
        damage = random.choice(DAMAGES[format.kind])
        path.write_bytes(damage(path.read_bytes(), random))
        done.append(f"{damage.__name__} {path.relative_to(folder)}")
    if format.files and random.random() < _PATHS and path.exists():
        change = random.choice(PATH)
        change(path, random)
        done.append(f"{change.__name__} {path.relative_to(folder)}")
    damage_text = ", ".join(done) or format.kind
    return Case(seed, number, format, tuple(command), damage_text, random.choice(ENCODINGS))


def _on_octets(changes: Sequence[Change]) -> list[Damage]:
    return [_on_text(change) for change in changes]


def _on_text(change: Change) -> Damage:
    def damage(octets: bytes, random: Random) -> bytes:
        text = octets.decode("utf-8", "surrogateescape")
        return change(text, random).encode("utf-8", "surrogatepass")

    damage.__name__ = change.__name__
    return damage


def _lines_of_json(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        at = random.randrange(len(lines))
        lines[at] = f"{TREE[0](lines[at], random)}\n"
    return "".join(lines)


_TEXT = [*_on_octets(TEXT), *_on_octets(TEXT), *BYTES]

DAMAGES: dict[str, Sequence[Damage]] = {
    "text": _TEXT,
    "json": [*_TEXT, *_on_octets(TREE * len(_TEXT))],
    "lines": [*_TEXT, *_on_octets([_lines_of_json] * len(_TEXT))],
    "npy": [*NPY, *NPY, *BYTES],
    "archive": [*ARCHIVE, *ARCHIVE, *ARCHIVE, *BYTES],
    "module": [*ARCHIVE, *ARCHIVE, *TORCH * 4, *BYTES],
    "python": _on_octets(PYTHON),
    "rows": ROW_DAMAGE,
}
"""By kind of format. Others damage the command itself: its ``words``, its ``options``, or the
``name`` of a file."""
