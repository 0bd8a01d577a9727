"""A small program of the DPU, written by hand, and how its damaged files are refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import PeOp
from gnarl.hw.lib.errors import ProgramError
from gnarl.sw.compiler.dpu.sections import DPU_SCHEMA, STATISTICS, dag_sections
from gnarl.sw.program.program import Program
from gnarl.sw.program.tensor_spec import Labelled, TensorSpec, labels_of
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.workloads.dag.dag import Dag, Op

CONFIG = DpuConfig(depth=1, banks=8, registers=8, data_rows=16)

# a + 2b, a: nodes 0 a, 1 b, 2 the constant, 3 the product, 4 the sum.
DAG = Dag(
    op=np.array([Op.INPUT, Op.INPUT, Op.CONST, Op.MUL, Op.ADD], np.uint8),
    offsets=np.array([0, 0, 0, 0, 2, 4]),
    operands=np.array([1, 2, 0, 3], np.int32),
    negative=np.zeros(4, bool),
    constants=np.array([0, 0, 2.0, 0, 0]),
    outputs=np.array([4, 0]),
)


def scalars(name: str, *labels: str) -> TensorSpec:
    return TensorSpec(name, (len(labels),), "float32", Labelled(labels_of(labels)))


def program(inputs: tuple[str, ...] = ("a", "b"), **sections: np.ndarray) -> Program:
    return Program.of_one_launch(
        CONFIG,
        "example",
        (scalars("inputs", *inputs),),
        (scalars("outputs", "sum", "a"),),
        statistics=dict.fromkeys(STATISTICS, 1),
        schema=DPU_SCHEMA,
        sections={
            "instructions": np.array([0, 1], np.uint8),
            "word_row": np.array([0, 0, 0], np.int32),
            "word_bank": np.array([0, 1, 2], np.int32),
            "word_value": np.array([0, 1, 2], np.int32),
            "constants": np.array([2.0]),
            "output_row": np.array([3, -1], np.int32),
            "output_bank": np.array([7, 0], np.int32),
            "output_value": np.array([4, 0], np.int32),
            "tree_op": np.array([PeOp.MUL, PeOp.ADD], np.uint8),
            "tree_left": np.array([1, 0], np.int32),
            "tree_right": np.array([2, 3], np.int32),
            **dag_sections(DAG),
            **sections,
        },
    )


def refuses(path: Path, text: str) -> None:
    with pytest.raises(ProgramError, match=f"^{re.escape(f'{path}: {text}')}$"):
        load_program(path)


def equal(one: Program, other: Program) -> bool:
    """Whether two programs have the same fields, tensors and sections."""
    assert (len(one.launches), one.schema) == (len(other.launches), other.schema)
    for left, right in zip(one.launches, other.launches, strict=True):
        assert left.sections.keys() == right.sections.keys()
        for name, array in left.sections.items():
            assert array.dtype == right.sections[name].dtype
            assert array.tolist() == right.sections[name].tolist()
        if replace(left, sections={}) != replace(right, sections={}):
            return False
    return replace(one, launches=()) == replace(other, launches=())
