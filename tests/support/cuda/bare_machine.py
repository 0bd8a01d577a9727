"""A Python that has few packages, as a machine with a GPU may have."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]

BARE = (
    *("numpy", "numba", "scipy", "rich", "click", "ml_dtypes", "matplotlib", "torch"),
    "cuda-bindings",
)
"""Packages that CUDA's runtime needs."""
_ABSENT = {"networkx"}
"""Of those that they need: not to be imported, whether or not they are there."""


def packages(folder: Path, names: Iterable[str] = BARE) -> Path:
    """Links to these packages, and those that they need, in a folder ``packages`` of ``folder``."""
    site = folder / "packages"
    site.mkdir()
    for found in _with_needed(names):
        for top in {path.parts[0] for path in found.files or ()} - {"..", "__pycache__"}:
            source, link = Path(str(found.locate_file(top))), site / top
            if source.exists() and not link.exists():
                link.symlink_to(source)
    return site


def python(
    site: Path, *arguments: str, environment: Mapping[str, str] = {}, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs Python, and the processes that it starts, with the project and the packages in ``site``
    alone."""
    hidden = ("CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    path = os.pathsep.join([str(site), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        env={**kept, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        **options,
    )


def _with_needed(names: Iterable[str]) -> list[Distribution]:
    """In the order in which they are needed; without those that are not installed."""
    found: dict[str, Distribution] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop(0)
        if name in found or name in _ABSENT:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        needed = [each for each in found[name].requires or () if "extra ==" not in each]
        waiting += [re.match(r"[\w.-]+", each)[0] for each in needed]  # type: ignore[index]
    return list(found.values())
