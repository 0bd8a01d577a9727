"""Liberty cells of what no library of standard cells has: memories and constants.

Memories have no delays of their own: paths to and from them count.
"""

from __future__ import annotations

from collections.abc import Iterable

from gnarl.hw.lib.memory.size import MemorySize

_LIBRARY = """library(memories) {{
  delay_model : table_lookup;
  time_unit : "1ns"; voltage_unit : "1V"; current_unit : "1uA"; pulling_resistance_unit : "1kohm";
  leakage_power_unit : "1nW"; capacitive_load_unit(1, pf);
  input_threshold_pct_rise : 50; input_threshold_pct_fall : 50;
  output_threshold_pct_rise : 50; output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 20; slew_lower_threshold_pct_fall : 20;
  slew_upper_threshold_pct_rise : 80; slew_upper_threshold_pct_fall : 80;
  nom_process : 1; nom_voltage : 1; nom_temperature : 25;
{types}{cells}}}
"""
_TIES = """library(ties) {
  delay_model : table_lookup; time_unit : "1ns"; capacitive_load_unit(1, pf);
  input_threshold_pct_rise : 50; input_threshold_pct_fall : 50;
  output_threshold_pct_rise : 50; output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 20; slew_lower_threshold_pct_fall : 20;
  slew_upper_threshold_pct_rise : 80; slew_upper_threshold_pct_fall : 80;
  cell(%s) { area : 0; pin(Y) { direction : output; %s} }
  cell(%s) { area : 0; pin(Y) { direction : output; %s} }
}
"""
_TYPE = """  type(bits_{bits}) {{
    base_type : array; data_type : bit; bit_width : {bits}; bit_from : {top}; bit_to : 0;
  }}
"""
_CELL = """  cell({name}) {{
    area : 0;
    pin(clk) {{ direction : input; capacitance : 0; clock : true; }}
{pins}  }}
"""
_BUS = """    bus({name}) {{
      bus_type : bits_{bits}; direction : {direction}; capacitance : 0;
      timing() {{ related_pin : "clk"; timing_type : {timing} }}
    }}
"""
_PIN = """    pin({name}) {{
      direction : {direction}; capacitance : 0;
      timing() {{ related_pin : "clk"; timing_type : {timing} }}
    }}
"""
_SETUP = (
    "setup_rising;"
    ' rise_constraint(scalar) { values("0"); } fall_constraint(scalar) { values("0"); }'
)
_OUT = "rising_edge;" + "".join(
    f' {name}(scalar) {{ values("0"); }}'
    for name in ("cell_rise", "cell_fall", "rise_transition", "fall_transition")
)


def memory_stubs(sizes: Iterable[MemorySize]) -> str:
    """Text of a liberty file with a cell for each size, whose pins are those of its module."""
    sizes = sorted(sizes)
    buses: set[int] = set()
    cells = ""
    for size in sizes:
        address = max(1, (size.rows - 1).bit_length())
        inputs = {"read_enable": 0, "write_enable": 0, "write_data": size.width}
        if size.ports == 2:
            inputs |= {"read_address": address, "write_address": address}
        else:
            inputs |= {"address": address}
        buses |= {*inputs.values(), size.width} - {0}
        pins = "".join(_pin(name, bits, "input", _SETUP) for name, bits in inputs.items())
        cells += _CELL.format(
            name=size.module, pins=pins + _pin("read_data", size.width, "output", _OUT)
        )
    types = "".join(_TYPE.format(bits=bits, top=bits - 1) for bits in sorted(buses))
    return _LIBRARY.format(types=types, cells=cells)


def tie_stubs(low: str, high: str, functions: bool) -> str:
    """Text of a liberty file with cells of these names whose output Y is 0, and 1.

    Without ``functions`` it does not say which.
    """
    zero, one = (f'function : "{value}"; ' if functions else "" for value in (0, 1))
    return _TIES % (low, zero, high, one)


def _pin(name: str, bits: int, direction: str, timing: str) -> str:
    """``bits`` of a bus, 0 for a pin of its own."""
    template = _BUS if bits else _PIN
    return template.format(name=name, bits=bits, direction=direction, timing=timing)
