"""A library of a few cells, with delays and areas that a test can add up by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

AREAS = {"INV": 1.0, "NAND": 2.0, "NOR": 2.5, "BUF": 1.5, "DFF": 8.0}
NOT, AND_NOT, OR_NOT, SAME = "A'", "!(A B)", "(A+B)'", "A"
FUNCTIONS: Mapping[str, str] = {"INV": NOT, "NAND": AND_NOT, "NOR": OR_NOT, "BUF": SAME}
GATE_NS, CLOCK_TO_Q_NS, SETUP_NS = 0.1, 0.25, 0.05

_HEAD = """library(few) {
  delay_model : table_lookup; time_unit : "1ns"; capacitive_load_unit(1, pf);
  voltage_unit : "1V"; current_unit : "1uA"; pulling_resistance_unit : "1kohm";
  leakage_power_unit : "1nW"; nom_voltage : 1; nom_temperature : 25; nom_process : 1;
  input_threshold_pct_rise : 50; input_threshold_pct_fall : 50;
  output_threshold_pct_rise : 50; output_threshold_pct_fall : 50;
  slew_lower_threshold_pct_rise : 20; slew_lower_threshold_pct_fall : 20;
  slew_upper_threshold_pct_rise : 80; slew_upper_threshold_pct_fall : 80;
  lu_table_template(flat) { variable_1 : total_output_net_capacitance;
    variable_2 : input_net_transition; index_1("0, 1"); index_2("0, 1"); }
"""


def library_text(areas: Mapping[str, float] = AREAS) -> str:
    """A library of the cells in ``areas``, each of which is one of ``AREAS``. Delays are all the
    same."""
    return _HEAD + "".join(_cell(name, area) for name, area in areas.items()) + "}\n"


def write_library(folder: Path, areas: Mapping[str, float] = AREAS) -> Path:
    path = folder / "few.lib"
    path.write_text(library_text(areas))
    return path


def _cell(name: str, area: float) -> str:
    if name == "DFF":
        return (
            f'  cell(DFF) {{ area : {area};\n    ff(IQ, IQN) {{ next_state : "D"; '
            'clocked_on : "CLK"; }\n    pin(CLK) { direction : input; capacitance : 0.01; '
            "clock : true; }\n    pin(D) { direction : input; capacitance : 0.01;\n"
            f"      timing() {{ related_pin : CLK; timing_type : setup_rising; "
            f'rise_constraint(scalar) {{ values("{SETUP_NS}"); }} '
            f'fall_constraint(scalar) {{ values("{SETUP_NS}"); }} }} }}\n'
            '    pin(Q) { direction : output; max_capacitance : 1; function : "IQ";\n'
            f"      timing() {{ related_pin : CLK; timing_type : rising_edge; "
            f"{_delays(CLOCK_TO_Q_NS)} }} }}\n  }}\n"
        )
    function = FUNCTIONS[name]
    inputs = "AB" if "B" in function else "A"
    sense = "positive_unate" if name == "BUF" else "negative_unate"
    pins = "".join(
        f"    pin({pin}) {{ direction : input; capacitance : 0.01; }}\n" for pin in inputs
    )
    arcs = "".join(
        f"      timing() {{ related_pin : {pin}; timing_sense : {sense}; {_delays(GATE_NS)} }}\n"
        for pin in inputs
    )
    return (
        f"  cell({name}) {{ area : {area};\n{pins}    pin(Y) {{ direction : output; "
        f'max_capacitance : 1; function : "{function}";\n{arcs}    }}\n  }}\n'
    )


def _delays(ns: float) -> str:
    values = f'{{ values("{ns}, {ns}", "{ns}, {ns}"); }}'
    return " ".join(f"{edge}(flat) {values}" for edge in ("cell_rise", "cell_fall")) + (
        ' rise_transition(flat) { values("0.02, 0.02", "0.02, 0.02"); }'
        ' fall_transition(flat) { values("0.02, 0.02", "0.02, 0.02"); }'
    )
