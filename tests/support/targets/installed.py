"""Packages with targets, installed without an installer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from gnarl.sw.runtime.target.registry import installed

OUTSIDE = {
    "adder": "tests.support.targets.adder_target:TARGET",
    "ulp": "tests.support.targets.ulp_target:TARGET",
}
"""Targets of other packages, by name."""


def install(folder: Path, package: str, targets: Mapping[str, str]) -> None:
    """Writes what an installer leaves in ``folder`` of a package with these entry points."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {value}\n" for name, value in targets.items()]
    (info / "entry_points.txt").write_text("".join(["[gnarl.targets]\n", *lines]))


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Packages in ``folder`` belong to this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        installed.cache_clear()
        yield
    installed.cache_clear()
