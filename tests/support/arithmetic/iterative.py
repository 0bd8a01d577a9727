"""Iterative datapaths side by side in one Verilated model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from amaranth.hdl import Module, ResetInserter, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.lib.iterative import Iterative
from tests.support.arithmetic.units import convert
from tests.support.machines.vectors import VectorSimulator

Columns = dict[str, npt.NDArray[np.uint64]]
"""Words by field of a payload; that of one without fields is called ``bits``."""


class SideBySide(wiring.Component):
    """Units whose streams are ports of plain numbers: each has its ``NAME_i_FIELD`` and
    ``NAME_o_FIELD``; all share ``i_valid``, ``o_ready`` and ``restart``, which resets them."""

    def __init__(self, units: Mapping[str, Iterative]) -> None:
        self._units = units
        ports = {"i_valid": In(1), "o_ready": In(1), "restart": In(1)}
        for name, unit in units.items():
            ports[f"{name}_i_ready"] = ports[f"{name}_o_valid"] = Out(1)
            for field, value in _fields(unit.i.payload):
                ports[f"{name}_i_{field}"] = In(len(value))
            for field, value in _fields(unit.o.payload):
                ports[f"{name}_o_{field}"] = Out(len(value))
        super().__init__(ports)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        for name, unit in self._units.items():
            m.submodules[name] = ResetInserter(self.restart)(unit)
            m.d.comb += [
                unit.i.valid.eq(self.i_valid),
                unit.o.ready.eq(self.o_ready),
                getattr(self, f"{name}_i_ready").eq(unit.i.ready),
                getattr(self, f"{name}_o_valid").eq(unit.o.valid),
            ]
            for field, value in _fields(unit.i.payload):
                m.d.comb += value.eq(getattr(self, f"{name}_i_{field}"))
            for field, value in _fields(unit.o.payload):
                m.d.comb += getattr(self, f"{name}_o_{field}").eq(value)
        return m


def _fields(payload: Any) -> Iterator[tuple[str, Value]]:
    if isinstance(payload, data.View):
        for name, _ in payload.shape():
            yield name, Value.cast(payload[name])
    else:
        yield "bits", payload


class Offered(NamedTuple):
    """What a unit was offered and did, by cycle."""

    i_valid: npt.NDArray[np.bool_]
    i_ready: npt.NDArray[np.bool_]
    o_valid: npt.NDArray[np.bool_]
    o_ready: npt.NDArray[np.bool_]
    given: Columns


class IterativeUnits:
    """Simulates units by name."""

    def __init__(self, units: Mapping[str, Iterative]) -> None:
        self.units = units
        self._simulator = VectorSimulator(convert(SideBySide(units), "units"), "units")

    def compute(self, operands: Mapping[str, Columns]) -> dict[str, Columns]:
        """Results of each unit for its operands, as many for all of them; all are offered in the
        cycles in which the slowest unit is ready, and none waits for being taken.

        Fails unless each is offered as many cycles later as its unit's latency says, and no other.
        """
        period = max(unit.latency for unit in self.units.values()) + 1
        count = len(next(iter(next(iter(operands.values())).values())))
        repeated = {
            name: {field: np.repeat(words, period) for field, words in columns.items()}
            for name, columns in operands.items()
        }
        first = np.arange(count * period) % period == 0
        o_ready = np.ones(len(first), np.bool_)
        results = {}
        for name, seen in self.run(repeated, first, o_ready).items():
            assert seen.i_ready[first].all(), f"{name} is not ready"
            late = np.arange(len(first)) % period == self.units[name].latency
            assert np.array_equal(seen.o_valid, late), f"{name} has another latency"
            results[name] = {field: words[late] for field, words in seen.given.items()}
        return results

    def run(
        self,
        operands: Mapping[str, Columns],
        i_valid: npt.NDArray[np.bool_],
        o_ready: npt.NDArray[np.bool_],
        restart: npt.ArrayLike = 0,
    ) -> dict[str, Offered]:
        """All that happens, cycle by cycle, after a reset."""
        inputs: dict[str, npt.ArrayLike] = {"i_valid": i_valid, "o_ready": o_ready}
        for name, columns in operands.items():
            inputs |= {f"{name}_i_{field}": words for field, words in columns.items()}
        idle = {port: 0 for port in inputs}
        self._simulator.run(idle | {"restart": 1}, cycles=1)
        raw = self._simulator.run(inputs | {"restart": restart}, cycles=len(i_valid))
        return {
            name: Offered(
                i_valid,
                raw[f"{name}_i_ready"].astype(np.bool_),
                raw[f"{name}_o_valid"].astype(np.bool_),
                o_ready,
                {field: raw[f"{name}_o_{field}"] for field, _ in _fields(unit.o.payload)},
            )
            for name, unit in self.units.items()
        }


def check_protocol(
    unit: Iterative,
    seen: Offered,
    restart: npt.NDArray[np.bool_],
    expected: Columns,
) -> int:
    """How many results were accepted.

    Every result comes ``latency`` cycles after its operands were taken, is that of ``expected``
    (by the cycle in which they were taken), stays until it is accepted, and is the only one under
    way. A cycle with ``restart`` forgets what is under way.
    """
    taken_at: int | None = None
    accepted = 0
    for cycle in range(len(restart)):
        due = taken_at is not None and cycle >= taken_at + unit.latency
        assert seen.i_ready[cycle] == (taken_at is None), f"ready in cycle {cycle}"
        assert seen.o_valid[cycle] == due, f"valid in cycle {cycle}"
        if due:
            got = {field: int(words[cycle]) for field, words in seen.given.items()}
            assert got == {field: int(words[taken_at]) for field, words in expected.items()}, cycle
        if taken_at is None and seen.i_valid[cycle]:
            taken_at = cycle
        elif due and seen.o_ready[cycle]:
            taken_at = None
            accepted += 1
        if restart[cycle]:
            taken_at = None
    return accepted
