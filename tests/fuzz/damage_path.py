"""Damage to the place where a file should be."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import Random

OTHER = "out"
"""What links name: commands that write to a link write here."""


def empty(path: Path, random: Random) -> None:
    path.write_bytes(b"")


def missing(path: Path, random: Random) -> None:
    path.unlink()


def folder(path: Path, random: Random) -> None:
    path.unlink()
    path.mkdir()


def dangling_link(path: Path, random: Random) -> None:
    path.unlink()
    path.symlink_to(OTHER)


def link_to_itself(path: Path, random: Random) -> None:
    path.unlink()
    path.symlink_to(path.name)


def link(path: Path, random: Random) -> None:
    """To the file as it was, which should work."""
    path.rename(path.with_name(OTHER))
    path.symlink_to(OTHER)


def device(path: Path, random: Random) -> None:
    path.unlink()
    path.symlink_to(os.devnull)


def locked(path: Path, random: Random) -> None:
    """Nobody but root may read it."""
    path.chmod(0)


def neighbour(path: Path, random: Random) -> None:
    """The contents of another file of the folder."""
    others = [each for each in path.parent.iterdir() if each.is_file() and each != path]
    if others:
        shutil.copyfile(random.choice(sorted(others)), path)


PATH = (*(empty, missing, folder, dangling_link, link_to_itself, link, device, locked, neighbour),)
