"""SAM's part of devices and reports: what ``sw.targets.Runtime`` asks for."""

from sw.runtime.sam.figures import (
    activity,
    charts,
    cycle_limit,
    dot,
    first_difference,
    listing,
    operations,
    statistics,
    units,
)
from sw.runtime.sam.image import image, operands, outputs, result_rows, written_rows
from sw.runtime.sam.models import verify
from sw.runtime.sam.sources import examples, new_inputs, prepare, source, workload

__all__ = [
    "activity",
    "charts",
    "cycle_limit",
    "dot",
    "examples",
    "first_difference",
    "image",
    "listing",
    "new_inputs",
    "operands",
    "operations",
    "outputs",
    "prepare",
    "result_rows",
    "source",
    "statistics",
    "units",
    "verify",
    "workload",
    "written_rows",
]
