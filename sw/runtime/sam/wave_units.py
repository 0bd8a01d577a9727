"""What views of waves show of SAM machines."""

from __future__ import annotations

from gnarl.sw.runtime.machine.waves.view import Unit

UNITS = (
    Unit(
        "datapath.*",
        bits=("done", "fault"),
        numbers=("entries", "fibers"),
        streams=("ref*", "crd*", "val*", "bv*", "repsig*", "out_*"),
    ),
)
