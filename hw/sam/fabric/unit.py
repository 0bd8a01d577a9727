"""A unit of a fabric: one block or another, as its configuration says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced
from gnarl.hw.lib.select import selected
from gnarl.hw.lib.stream.memory_ports import ReadPort, WritePort
from gnarl.hw.sam.block_types import Port
from gnarl.hw.sam.blocks.values.alu import OPERATIONS, Alu
from gnarl.hw.sam.components import component
from gnarl.hw.sam.config import SamConfig
from gnarl.hw.sam.datapath import COUNT_BITS
from gnarl.hw.sam.fabric.encoding import UnitType
from gnarl.hw.sam.memory_map import word_bits
from gnarl.hw.sam.token import token_stream
from gnarl.hw.sam.unit import WRITERS


def port_width(port: Port, config: SamConfig) -> int:
    """Bits of payload of the widest stream that a port may carry."""
    return max(config.stream_width(kind) for kind in port.kinds)


class FabricUnit(Instanced):
    """All variants of a unit type, of which one at most is at work.

    Variants that differ in an operation only are one component. Those that are not at work get no
    tokens, and nothing that they offer leaves the unit.

    Parameters: ``kind``; ``config``; ``name`` of the unit where its arrays have sizes of their own.

    Members: ``variant`` in: its number from 1, 0 for none, the same during a run; all inputs,
    outputs, settings, counts and memory ports that a variant has, by their names; ``fault`` out;
    and ``done`` out, if it is a writer, 1 also while none is at work.
    """

    def __init__(self, kind: UnitType, config: SamConfig, name: str = "") -> None:
        self._kind = kind
        self._name = name
        self._config = config
        self._widths = {
            port.name: port_width(port, config)
            for port in (*kind.inputs.values(), *kind.outputs.values())
        }
        members: dict[str, Any] = {"variant": In(range(len(kind.variants) + 1)), "fault": Out(1)}
        members |= {name: In(token_stream(self._widths[name])) for name in kind.inputs}
        members |= {name: Out(token_stream(self._widths[name])) for name in kind.outputs}
        members |= {name: In(config.index_bits) for name in kind.settings}
        members |= {name: Out(COUNT_BITS) for name in kind.counts}
        for array in kind.arrays:
            bits = word_bits(config, array)
            members[f"mem_{array.name}"] = Out(
                WritePort(config.index_bits, bits, array.words)
                if array.writes
                else ReadPort(config.index_bits, bits, array.words)
            )
        if kind.block in WRITERS:
            members["done"] = Out(1)
        super().__init__(members)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        parts = self._make_parts(m)

        def of_parts(name: str) -> list[tuple[Value, Any]]:
            """The member of each part that has it, and whether the part is at work."""
            return [
                (at_work, getattr(part, name)) for at_work, part in parts if hasattr(part, name)
            ]

        for name in self._kind.inputs:
            _spread(m, getattr(self, name), of_parts(name))
        for name in self._kind.outputs:
            _merge(m, getattr(self, name), of_parts(name))
        for array in self._kind.arrays:
            name = f"mem_{array.name}"
            port, ports = getattr(self, name), of_parts(name)
            if array.writes:
                _merge(m, port.write, [(at_work, each.write) for at_work, each in ports])
            else:
                _merge(m, port.address, [(at_work, each.address) for at_work, each in ports])
                _spread(m, port.data, [(at_work, each.data) for at_work, each in ports])
        for name in self._kind.settings:
            m.d.comb += [setting.eq(getattr(self, name)) for _, setting in of_parts(name)]
        for name in self._kind.counts:
            m.d.comb += getattr(self, name).eq(selected(of_parts(name)))
        m.d.comb += self.fault.eq(selected(of_parts("fault")))
        if self._kind.block in WRITERS:
            m.d.comb += self.done.eq((self.variant == 0) | selected(of_parts("done")))
        return m

    def _make_parts(self, m: Module) -> list[tuple[Value, wiring.Component]]:
        """The components, and whether each one is at work."""
        kind, config = self._kind, self._config
        if kind.block == "alu":
            m.submodules.alu = alu = Alu(config.number_format, config.alu_stages, None)
            with m.Switch(self.variant):
                for number, block in enumerate(kind.blocks, 1):
                    with m.Case(number):
                        m.d.comb += alu.operation.eq(OPERATIONS[block["op"]])
            return [(self.variant != 0, alu)]
        parts: list[tuple[Value, wiring.Component]] = []
        for number, (block, variant) in enumerate(zip(kind.blocks, kind.variants, strict=True), 1):
            widths = {
                port.name: self._widths[port.name]
                for port in block.inputs.values()
                if not port.optional or port.name in variant.fed
            }
            part = component(replace(block, name=self._name or block.name), widths, config)
            m.submodules[f"variant_{number}"] = part
            parts.append((self.variant == number, part))
        return parts


def _merge(m: Module, output: Any, sources: list[tuple[Value, Any]]) -> None:
    """``output`` is the stream of the part at work."""
    m.d.comb += [
        output.valid.eq(selected((at_work, source.valid) for at_work, source in sources)),
        _bits(output).eq(selected((at_work, _bits(source)) for at_work, source in sources)),
        *(source.ready.eq(output.ready & at_work) for at_work, source in sources),
    ]


def _spread(m: Module, input: Any, targets: list[tuple[Value, Any]]) -> None:
    """The part at work gets the stream ``input``."""
    m.d.comb += input.ready.eq(selected((at_work, target.ready) for at_work, target in targets))
    for at_work, target in targets:
        m.d.comb += [target.valid.eq(input.valid & at_work), _bits(target).eq(_bits(input))]


def _bits(stream: Any) -> Value:
    return Value.cast(stream.payload)
