"""Programs on disk, simulators, devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnarl.sw.runtime.run.device import Device

__all__ = ["Device"]


def __getattr__(name: str) -> Any:
    # Imported on demand: devices import the table of targets, which imports this package.
    if name == "Device":
        from gnarl.sw.runtime.run.device import Device

        return Device
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
