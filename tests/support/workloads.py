"""Real inputs that are no part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE_REPOSITORY = Path(__file__).resolve().parents[3] / "shared" / "workloads"


def workload_file(path: str) -> Path:
    """A file below the folder of real inputs, ``dag/tretail.psdd`` say; skips where it is absent.

    The folder is that of the environment variable ``GNARL_WORKLOADS``, or ``../shared/workloads``
    beside the repository.
    """
    file = Path(os.environ.get("GNARL_WORKLOADS", _BESIDE_REPOSITORY)) / path
    if not file.is_file():
        pytest.skip(f"{file} is absent: GNARL_WORKLOADS may name the folder of real inputs")
    return file
