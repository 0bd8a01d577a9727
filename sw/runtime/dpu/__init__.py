"""The DPU's part of devices and reports: what ``sw.targets.Runtime`` asks for."""

from sw.runtime.dpu.diagnosis import first_difference, written_rows
from sw.runtime.dpu.figures import (
    activity,
    charts,
    cycle_limit,
    dot,
    listing,
    operations,
    statistics,
    units,
)
from sw.runtime.dpu.image import image, operands, outputs, result_rows
from sw.runtime.dpu.models import golden, model, reference, verify
from sw.runtime.dpu.sources import examples, new_inputs, prepare, source, workload

__all__ = [
    "activity",
    "charts",
    "cycle_limit",
    "dot",
    "examples",
    "first_difference",
    "golden",
    "image",
    "listing",
    "model",
    "new_inputs",
    "operands",
    "operations",
    "outputs",
    "prepare",
    "reference",
    "result_rows",
    "source",
    "statistics",
    "units",
    "verify",
    "workload",
    "written_rows",
]
