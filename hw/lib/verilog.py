"""Verilog of a component, the same text every time."""

from __future__ import annotations

from amaranth.back import verilog
from amaranth.hdl import ClockSignal, Instance
from amaranth.lib import wiring

from hw.lib.ram import Ram, TwoPortRam

_RAM = """
module ram_{rows}x{width}(clk, address, read_enable, write_enable, write_data, read_data);
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
module two_port_ram_{rows}x{width}(clk, read_address, read_enable, read_data,
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


class _RamModules:
    """Makes each ``Ram`` and ``TwoPortRam`` an instance of a module for its size.

    Amaranth's own memories always have initial contents: a line of Verilog for every word, which
    takes minutes to write and to compile for memories of useful size.
    """

    def __init__(self) -> None:
        self._one_port: set[tuple[int, int]] = set()
        self._two_port: set[tuple[int, int]] = set()

    def get_ram(self, ram: Ram) -> Instance:
        self._one_port.add((ram.rows, ram.width))
        return Instance(
            f"ram_{ram.rows}x{ram.width}",
            i_clk=ClockSignal(),
            i_address=ram.address,
            i_read_enable=ram.read_enable,
            i_write_enable=ram.write_enable,
            i_write_data=ram.write_data,
            o_read_data=ram.read_data,
        )

    def get_two_port_ram(self, ram: TwoPortRam) -> Instance:
        self._two_port.add((ram.rows, ram.width))
        return Instance(
            f"two_port_ram_{ram.rows}x{ram.width}",
            i_clk=ClockSignal(),
            i_read_address=ram.read_address,
            i_read_enable=ram.read_enable,
            o_read_data=ram.read_data,
            i_write_address=ram.write_address,
            i_write_enable=ram.write_enable,
            i_write_data=ram.write_data,
        )

    def text(self) -> str:
        return "".join(
            module.format(
                rows=rows,
                width=width,
                address_top=max(1, (rows - 1).bit_length()) - 1,
                top=width - 1,
                last=rows - 1,
            )
            for module, sizes in ((_RAM, self._one_port), (_TWO_PORT_RAM, self._two_port))
            for rows, width in sorted(sizes)
        )


def to_verilog(component: wiring.Component, name: str) -> str:
    """Verilog of ``component`` as module ``name``, with all that it consists of.

    The text depends on the component alone: there are no source paths or dates in it.
    """
    rams = _RamModules()
    text = verilog.convert(
        component, name=name, platform=rams, emit_src=False, strip_internal_attrs=True
    )
    return text + rams.text()
