"""The fabric: a pool of units, and a network that its configuration makes any graph of."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In
from gnarl.hw.lib.stream.queue import Queue
from gnarl.hw.sam.components import check_block
from gnarl.hw.sam.config import SamConfig, size_name
from gnarl.hw.sam.datapath import Datapath
from gnarl.hw.sam.fabric.encoding import fields, pool, sources
from gnarl.hw.sam.fabric.unit import FabricUnit
from gnarl.hw.sam.memory_map import units_of
from gnarl.hw.sam.token import token_layout


def configuration_layout(config: SamConfig) -> data.StructLayout:
    """The configuration: the bits in use of each of its words, as fields ``"0"``, ``"1"``, …."""
    widths = (field.width for field in fields(pool(config)))
    return data.StructLayout({str(place): width for place, width in enumerate(widths)})


class Fabric(Datapath):
    """Units, and in front of each of their inputs a queue and a choice of what it listens to.

    An output may have any number of listeners; each gets every token as soon as it has room. What
    an output without a listener gives is gone.

    Members: as ``Datapath``; and ``configuration`` in, a ``configuration_layout``, which stays the
    same during a run.
    """

    def __init__(self, config: SamConfig) -> None:
        super().__init__(config, units_of(config), configuration=In(configuration_layout(config)))

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        kinds = pool(self.config)
        units: dict[str, Any] = {}
        for name, kind in kinds.items():
            sizes = (size_name(self.config.arrays, name, array.name) for array in kind.arrays)
            units[name] = FabricUnit(kind, self.config, name if any(sizes) else "")
            m.submodules[name] = units[name]
        self.connect_units(m, list(units.values()))

        given = {
            (name, output): self.given_by(m, units[name], name, output)
            for name, kind in kinds.items()
            for output in kind.outputs
        }
        listens = sources(kinds)
        # For each output, whether those that may listen to it let it go on.
        passes: dict[tuple[str, str], list[Value]] = {source: [] for source in given}
        for place, field in enumerate(fields(kinds)):
            choice = self.configuration[str(place)]
            if field.input is None:
                m.d.comb += units[field.unit].variant.eq(choice)
                continue
            outputs = listens[field.unit, field.input]
            holds = self._listen(
                m,
                getattr(units[field.unit], field.input),
                f"{field.unit}_{field.input}",
                choice,
                [given[source] for source in outputs],
            )
            for number, source in enumerate(outputs):
                passes[source].append(~holds[number])
        for source, listeners in passes.items():
            m.d.comb += given[source].ready.eq(Cat(*listeners).all())
        return m

    def _listen(
        self, m: Module, input: Any, name: str, choice: Value, outputs: list[Any]
    ) -> Signal:
        """Puts a queue and a choice of outputs before an input.

        Gives which output the input holds up: the one it listens to, while it neither has the token
        that is offered nor takes it.
        """
        width = len(input.payload.payload)
        m.submodules[f"queue_{name}"] = queue = Queue(token_layout(width), self.config.queue_depth)
        wiring.connect(m, queue.o, input)
        chosen = Signal(len(outputs), name=f"{name}_chosen")
        holds = Signal(len(outputs), name=f"{name}_holds")
        offered = Signal(name=f"{name}_offered")
        goes_on = Signal(name=f"{name}_goes_on")
        given = Signal(name=f"{name}_given")
        served = Signal(name=f"{name}_served")
        with m.Switch(choice):
            for number, output in enumerate(outputs):
                with m.Case(number + 1):
                    m.d.comb += [
                        chosen.eq(1 << number),
                        offered.eq(output.valid),
                        goes_on.eq(output.ready),
                        queue.i.payload.kind.eq(output.payload.kind),
                        queue.i.payload.payload.eq(output.payload.payload),
                    ]
        m.d.comb += [
            served.eq(given | queue.i.ready),
            holds.eq(Mux(served, 0, chosen)),
            queue.i.valid.eq(offered & ~given),
        ]
        with m.If(offered):
            m.d.sync += given.eq(served & ~goes_on)
        return holds


def check_fabric(config: SamConfig) -> None:
    """Raises ``ConfigError`` for units that there are not in this configuration."""
    for kind in pool(config).values():
        for block in kind.blocks:
            check_block(block, config)
