"""The configurations that are tested as a whole: few and small, but different in everything."""

from __future__ import annotations

import json
import os

from gnarl.hw.dpu.config import DpuConfig

SMALL = DpuConfig(
    depth=2, banks=8, registers=8, format="float16", instruction_words=128, data_rows=32
)

PIPELINED = DpuConfig(
    depth=3,
    banks=16,
    registers=16,
    format="float8_e5m2",
    output_interconnect="crossbar",
    pe_stages=2,
    technology="silicon",
    fetch_stages=6,
    write_stages=1,
    fault_stages=1,
    instruction_words=100,
    data_rows=16,
    overlap=False,
)

ODD = DpuConfig(
    depth=1,
    banks=12,
    registers=11,
    format="fixed16.8",
    output_interconnect="single",
    fetch_stages=4,
    instruction_words=77,
    data_rows=20,
)
"""Its fields can hold banks, registers, rows and write sources that it lacks."""

CONFIGS = {"small": SMALL, "pipelined": PIPELINED, "odd": ODD}
"""Those that differ most; the blocks of ``small`` are tested with theirs."""

_VARIABLE = "DPU_CONFIG"


def environment(config: DpuConfig) -> dict[str, str]:
    """Variables that tell the tests inside the simulator which configuration they test."""
    return {_VARIABLE: json.dumps(config.to_dict())}


def config_under_test() -> DpuConfig:
    """The configuration under test, inside the simulator."""
    return DpuConfig.from_dict(json.loads(os.environ[_VARIABLE]))
