"""Units under test side by side in one Verilated model, driven by the same operands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from amaranth.back import verilog
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tests.support.machines.vectors import VectorSimulator


class SideBySide(wiring.Component):
    """Inputs of one name are one port; output ``o`` of unit ``add_3`` is port ``add_3_o``."""

    def __init__(self, units: Mapping[str, Any]) -> None:
        self._units = units
        ports = {}
        for name, unit in units.items():
            for member, description in unit.signature.members.items():
                if description.flow == In:
                    ports[member] = In(description.shape)
                else:
                    ports[f"{name}_{member}"] = Out(description.shape)
        super().__init__(ports)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for name, unit in self._units.items():
            m.submodules[name] = unit
            for member, description in unit.signature.members.items():
                if description.flow == In:
                    m.d.comb += getattr(unit, member).eq(getattr(self, member))
                else:
                    m.d.comb += getattr(self, f"{name}_{member}").eq(getattr(unit, member))
        return m


def convert(unit: Any, top: str) -> str:
    """Verilog as every part of the project writes it."""
    return verilog.convert(unit, name=top, emit_src=False, strip_internal_attrs=True)


class Units:
    """Simulates units by name, each of which has a ``latency``."""

    def __init__(self, units: Mapping[str, Any]) -> None:
        self._units = units
        self._simulator = VectorSimulator(convert(SideBySide(units), "units"), "units")

    def latency(self, name: str) -> int:
        """Cycles that the unit of this name claims to take."""
        return self._units[name].latency

    def run(self, **inputs: npt.ArrayLike) -> dict[str, npt.NDArray[np.uint64]]:
        """Outputs by port name, each aligned with the operands that it belongs to by latency."""
        count = max(np.size(values) for values in inputs.values())
        longest = max(unit.latency for unit in self._units.values())
        padded = {
            name: np.pad(values, (0, longest)) if np.ndim(values) else values
            for name, values in inputs.items()
        }
        raw = self._simulator.run(padded, cycles=count + longest)
        aligned = {}
        for name, unit in self._units.items():
            for member, description in unit.signature.members.items():
                if description.flow == Out:
                    port = f"{name}_{member}"
                    aligned[port] = raw[port][unit.latency :][:count]
        return aligned


def assert_same_words(
    got: npt.NDArray[np.uint64],
    expected: npt.NDArray[Any],
    operands: tuple[npt.NDArray[Any], ...],
    what: str,
) -> None:
    """Fails with the first operands whose result differs, in hexadecimal."""
    wrong = np.flatnonzero(got != expected.astype(np.uint64))
    if wrong.size:
        at = int(wrong[0])
        given = ", ".join(f"{int(values[at]):#x}" for values in operands)
        raise AssertionError(
            f"{what}({given}) = {int(got[at]):#x}, not {int(expected[at]):#x}; "
            f"{wrong.size} of {got.size} differ"
        )
