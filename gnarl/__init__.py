"""Hardware generators for irregular computation, and the compilers that make them useful.

``from gnarl import Device`` is where to begin; ``gnarl.hw`` and ``gnarl.sw`` are the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnarl.sw.runtime.run.device import Device

    __version__: str

__all__ = ["Device", "__version__"]


def __getattr__(name: str) -> Any:
    # On demand: devices import NumPy and more, and every module of the package imports this one.
    if name == "Device":
        from gnarl.sw.runtime.run.device import Device

        return Device
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("gnarl")
        except PackageNotFoundError:
            return "unknown"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
