"""The DPU's part of devices and reports: what ``sw.targets.Runtime`` asks for."""

from sw.runtime.dpu.diagnosis import first_difference, written_rows
from sw.runtime.dpu.figures import activity, charts, cycle_limit, listing, units
from sw.runtime.dpu.image import image, leaf_words, outputs, result_rows
from sw.runtime.dpu.models import golden, model, reference
from sw.runtime.dpu.sources import input_values, prepare, workload

__all__ = [
    "activity",
    "charts",
    "cycle_limit",
    "first_difference",
    "golden",
    "image",
    "input_values",
    "leaf_words",
    "listing",
    "model",
    "outputs",
    "prepare",
    "reference",
    "result_rows",
    "units",
    "workload",
    "written_rows",
]
