"""What targets that run models of embedding layers have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from gnarl.hw.lib.formats import FLOAT_FORMATS
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.report.vanished import Given, elements
from gnarl.sw.runtime.target.option import TargetOption, WholeNumber
from gnarl.sw.workloads.embedding.inputs import DEFAULT_BATCH, Inputs
from gnarl.sw.workloads.embedding.model import MAXIMUM_BATCH


def batch_option(command: str) -> TargetOption:
    """``--batch`` of ``run``, or of ``compile`` where programs are made for a batch."""
    return TargetOption(
        "--batch",
        commands=(command,),
        type=WholeNumber(1, MAXIMUM_BATCH),
        help=f"Samples to look up, by default {DEFAULT_BATCH}.",
    )


def given(program: Program, inputs: Inputs) -> Iterator[Given]:
    """Tables and weights that are given in other types than their own, see ``Executor.given``."""
    arrays = inputs if isinstance(inputs, Mapping) else {}
    for spec in program.inputs:
        if spec.name in arrays and spec.type in FLOAT_FORMATS:
            array = np.asarray(arrays[spec.name])
            if array.dtype != spec.dtype:
                yield elements(spec, array)
