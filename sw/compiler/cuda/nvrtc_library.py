"""NVRTC's library: that of its own package, or one that PyTorch has brought.

cuda-bindings has cuda.pathfinder look for it in site-packages, in conda and where the system's
loader does; one that the process has loaded before comes first.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

_BESIDE = (("nvidia", "*/lib"), ("torch", "lib"))
"""Packages, wherever Python finds them, and folders in them that may have the library."""

_BUILTINS = "libnvrtc-builtins.so.*"
"""What the library itself loads by name, on the loader's path alone, when it first compiles: loaded
before that, whichever thread is the first finds it."""


def load_nvrtc() -> bool:
    """Whether there is a library; from now on it is this process's."""
    from cuda.pathfinder import load_nvidia_dynamic_lib

    try:
        library = load_nvidia_dynamic_lib("nvrtc")
    except RuntimeError:  # it is not found, or cannot be loaded
        return any(load_nvrtc_of(folder) for folder in _folders())
    if library.abs_path is not None:
        with suppress(OSError):  # NVRTC says what it lacks
            _load(Path(library.abs_path).parent.glob(_BUILTINS))
    return True


def load_nvrtc_of(folder: Path) -> bool:
    """Whether ``folder`` has a library that can be loaded; from now on it is this process's, unless
    another was loaded before."""
    found = sorted(folder.glob("libnvrtc.so.*"))
    try:
        _load([*folder.glob(_BUILTINS), *found])
    except OSError:
        return False
    return bool(found)


def _load(libraries: Iterable[Path]) -> None:
    for path in libraries:
        ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)


def _folders() -> Iterator[Path]:
    for package, pattern in _BESIDE:
        spec = find_spec(package)  # without importing it
        for place in (spec and spec.submodule_search_locations) or ():
            yield from sorted(Path(place).glob(pattern))
