"""Programs on disk, simulators, devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sw.runtime.device import Device

__all__ = ["Device"]


def __getattr__(name: str) -> Any:
    # When it is asked for: it brings all of hardware generation, which a GPU's runtime does not
    # need and a machine with a GPU need not have.
    if name == "Device":
        from sw.runtime.device import Device

        return Device
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
