"""Programs on disk, simulators, devices."""

from sw.runtime.device import Device

__all__ = ["Device"]
