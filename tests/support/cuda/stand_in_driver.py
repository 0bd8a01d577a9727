"""The driver without a GPU of ``stand_in_driver.c``, for whole processes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gnarl.sw.program.cache import cached, digest_of

NAME = "Stand-in H200"
"""Of its GPU."""

_SOURCE = Path(__file__).with_suffix(".c")
_LIBRARY = "libcuda.so.1"
_FLAGS = ("-std=c11", "-O1", "-shared", "-fPIC", f"-Wl,-soname,{_LIBRARY}")


def driver_folder() -> Path:
    """The folder of the library, compiled once; skips the test where it cannot be used."""
    pytest.importorskip("cuda.bindings", reason="needs gnarl[cuda]")
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")

    def make(folder: Path) -> None:
        command = [compiler, *_FLAGS, str(_SOURCE), "-o", str(folder / _LIBRARY), "-ldl"]
        subprocess.run(command, check=True)

    digest = digest_of(_SOURCE.read_text(), *_FLAGS)
    return cached("test", digest, make, keep=(_LIBRARY,))[0].parent
