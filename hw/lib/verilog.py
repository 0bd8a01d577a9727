"""Verilog of a component, the same text every time."""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from amaranth.back import rtlil, verilog
from amaranth.hdl import ClockDomain, Instance
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from gnarl.hw.lib.instanced import Instanced, Key, instance_of, ports_of
from gnarl.hw.lib.memory.ram import Ram, TwoPortRam
from gnarl.hw.lib.memory.size import MemorySize
from gnarl.hw.lib.netlist_checks import linear_checks

_RAM = """
module {name}(clk, address, read_enable, write_enable, write_data, read_data);
  input clk;
  input [{address_top}:0] address;
  input read_enable;
  input write_enable;
  input [{top}:0] write_data;
  output reg [{top}:0] read_data;
  reg [{top}:0] words [{last}:0];
  always @(posedge clk) begin
    if (write_enable)
      words[address] <= write_data;
    else if (read_enable)
      read_data <= words[address];
  end
endmodule
"""

_TWO_PORT_RAM = """
module {name}(clk, read_address, read_enable, read_data,
    write_address, write_enable, write_data);
  input clk;
  input [{address_top}:0] read_address;
  input read_enable;
  output reg [{top}:0] read_data;
  input [{address_top}:0] write_address;
  input write_enable;
  input [{top}:0] write_data;
  reg [{top}:0] words [{last}:0];
  always @(posedge clk) begin
    if (write_enable)
      words[write_address] <= write_data;
    if (read_enable)
      read_data <= words[read_address];
  end
endmodule
"""


_CLOCK_INPUT = re.compile(r"^ *wire width 1 input \d+ +\\(clk|rst)$", re.M)

_DIRECTIONS = {In: PortDirection.Input, Out: PortDirection.Output}


class Rtlil(NamedTuple):
    """A design as Yosys reads it: RTLIL of its modules, and Verilog of its memories."""

    modules: str
    memories: str


class _Modules:
    """The platform that makes Verilog: modules that a design has instances of, each once.

    Each ``Ram`` and ``TwoPortRam`` is an instance of a module for its size: Amaranth's own memories
    always have initial contents, a line of Verilog for every word, which takes minutes to write and
    to compile for memories of useful size. Equal ``Instanced`` components are instances of one
    module, which is elaborated once.
    """

    def __init__(self, top: str) -> None:
        self._top = top
        self._memories: set[MemorySize] = set()
        self._modules: dict[Key, tuple[str, set[str]]] = {}
        self._kinds: Counter[str] = Counter()
        self._defining: wiring.Component | None = None
        self._rtlil: list[str] = []

    def get_ram(self, ram: Ram) -> Instance:
        return self._memory(ram, MemorySize(ram.rows, ram.width, 1))

    def get_two_port_ram(self, ram: TwoPortRam) -> Instance:
        return self._memory(ram, MemorySize(ram.rows, ram.width, 2))

    def _memory(self, ram: Ram | TwoPortRam, size: MemorySize) -> Instance:
        self._memories.add(size)
        return instance_of(ram, size.module, ["clk"])

    def get_instance(self, component: Instanced) -> Instance | None:
        if component is self._defining:
            return None
        if component.key not in self._modules:
            kind = re.sub(r"(?<!^)(?=[A-Z])", "_", type(component).__name__).lower()
            self._kinds[kind] += 1
            number = self._kinds[kind]
            name = f"{self._top}_{kind}" + (f"_{number}" if number > 1 else "")
            self._define(
                component, name, lambda used: ClockDomain("sync") if used == "sync" else None
            )
            self._modules[component.key] = name, set(_CLOCK_INPUT.findall(self._rtlil[-1]))
        return instance_of(component, *self._modules[component.key])

    def _define(
        self,
        component: wiring.Component,
        name: str,
        domain: Callable[[str], ClockDomain | None],
    ) -> None:
        """Adds module ``name`` behind those that it has instances of.

        ``domain`` makes the clock domains that the component uses and does not define.
        """
        outer, self._defining = self._defining, component
        ports = {port: (value, _DIRECTIONS[flow]) for port, value, flow in ports_of(component)}
        self._rtlil.append(
            rtlil.convert(component, name, self, ports=ports, emit_src=False, missing_domain=domain)
        )
        self._defining = outer

    def rtlil(self, component: wiring.Component) -> Rtlil:
        """RTLIL of ``component``, the top, and of all modules."""
        self._define(component, self._top, ClockDomain)
        return Rtlil("".join(reversed(self._rtlil)), self._rams())

    def _rams(self) -> str:
        return "".join(
            (_RAM if size.ports == 1 else _TWO_PORT_RAM).format(
                name=size.module,
                address_top=max(1, (size.rows - 1).bit_length()) - 1,
                top=size.width - 1,
                last=size.rows - 1,
            )
            for size in sorted(self._memories, key=lambda each: (each.ports, each))
        )


def to_verilog(component: wiring.Component, name: str) -> str:
    """Verilog of ``component`` as module ``name``, with all that it consists of.

    The text depends on the component alone: there are no source paths or dates in it.
    """
    design = to_rtlil(component, name)
    # One run of Yosys for all modules: its start takes longer than most of them.
    modules = verilog._convert_rtlil_text(design.modules, strip_internal_attrs=True)
    return modules + design.memories


def to_rtlil(component: wiring.Component, name: str) -> Rtlil:
    """RTLIL of ``component`` as module ``name``, with all that it consists of.

    Yosys reads it in less time than Verilog.
    """
    with _without_collections(), linear_checks():
        return _Modules(name).rtlil(component)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Netlists are many small objects that stay: looking for garbage among them takes a quarter of
    the time of a large design."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
