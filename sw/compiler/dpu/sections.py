"""What a DPU program consists of.

Values are numbered: inputs in their order, then constants, then the two-operand operations of the
binarised DAG in evaluation order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from gnarl.hw.dpu.assembly import split
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import PeOp, instruction_memory_bytes
from gnarl.hw.lib.errors import ProgramError
from gnarl.sw.program.launch import Sections
from gnarl.sw.program.program import Launch
from gnarl.sw.program.schema import Schema, Section
from gnarl.sw.program.tensor_spec import Labelled, Labels, TensorSpec
from gnarl.sw.workloads.dag.dag import Dag, Op
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.refusals import refuse_first

_VALUES = ("inputs", "constants", "operations")

SECTIONS = (
    # The byte stream, from address 0.
    Section("instructions", np.uint8, ("bytes",)),
    # Words of the data memory to fill before the start, and with which input or constant.
    Section("word_row", np.int32, ("words",), 0, ("data_rows",)),
    Section("word_bank", np.int32, ("words",), 0, ("banks",)),
    Section("word_value", np.int32, ("words",), 0, ("inputs", "constants")),
    Section("constants", np.float64, ("constants",)),
    # Where each output is after the end. Row -1: it's an input or constant itself, and the bank
    # is its number.
    Section("output_row", np.int32, ("outputs",), -1, ("data_rows",)),
    Section("output_bank", np.int32, ("outputs",), 0),
    Section("output_value", np.int32, ("outputs",), 0, _VALUES),
    # The binarised DAG: operation (a PeOp from ADD on) and its two values.
    Section("tree_op", np.uint8, ("operations",), PeOp.ADD, (PeOp.MIN + 1,)),
    Section("tree_left", np.int32, ("operations",), 0, _VALUES),
    Section("tree_right", np.int32, ("operations",), 0, _VALUES),
    # The DAG that was compiled, as in ``Dag``.
    Section("dag_op", np.uint8, ("nodes",), 0, (max(Op) + 1,)),
    Section("dag_offsets", np.int64, ("nodes+1",), 0, ("operands", 1)),
    Section("dag_operands", np.int32, ("operands",), 0, ("nodes",)),
    Section("dag_negative", np.bool_, ("operands",)),
    Section("dag_constants", np.float64, ("nodes",)),
    Section("dag_outputs", np.int64, ("outputs",), 0, ("nodes",)),
    Section("dag_reassociate", np.bool_, ()),
)
_DAG_SECTIONS = [section for section in SECTIONS if section.name.startswith("dag_")]


def dag_sections(dag: Dag) -> dict[str, np.ndarray]:
    """The sections that hold the source DAG; names are left to the manifest."""
    return {
        section.name: np.asarray(getattr(dag, section.name.removeprefix("dag_")), section.dtype)
        for section in _DAG_SECTIONS
    }


def dag_of(sections: Sections) -> Dag:
    """The source DAG; inverse of ``dag_sections``."""
    found: dict[str, Any] = {
        one.name.removeprefix("dag_"): sections[one.name] for one in _DAG_SECTIONS
    }
    found["reassociate"] = bool(found["reassociate"])
    return Dag(**found)


INPUTS, OUTPUTS = "inputs", "outputs"
"""Names of the tensors of a program: its DAG's leaves and results, by label."""


def tensors(workload: DagWorkload, format: str) -> tuple[TensorSpec, TensorSpec]:
    """The inputs, and the outputs."""
    inputs, outputs = (
        TensorSpec(name, (len(names),), format, Labelled(names))
        for name, names in ((INPUTS, workload.input_names), (OUTPUTS, workload.output_names))
    )
    return inputs, outputs


def labels(spec: TensorSpec) -> Labels:
    """Names of inputs or outputs."""
    assert isinstance(spec.storage, Labelled)
    return spec.storage.labels


def _sizes(launch: Launch) -> dict[str, int]:
    """Sizes of the dimensions that the launch's tensors imply. Raises ``ProgramError``."""
    sizes = {}
    for name, specs in ((INPUTS, launch.inputs), (OUTPUTS, launch.outputs)):
        if len(specs) != 1 or specs[0].name != name or not isinstance(specs[0].storage, Labelled):
            raise ProgramError(f"tensors: must be one of labelled {INPUTS}, one of {OUTPUTS}")
        if specs[0].type != launch.config.get("format"):
            raise ProgramError(
                f"tensor {name} is {specs[0].type}: must be {launch.config.get('format')}, as "
                "format in config"
            )
        sizes[name] = len(specs[0].storage.labels)
    return sizes


def _check(launch: Launch, sizes: Mapping[str, Any]) -> None:
    """Raises ``ProgramError`` unless operands come before their users, and outputs held as values
    are values."""
    sections = launch.sections
    dag = dag_of(sections)
    if len(dag.inputs) != sizes["inputs"]:
        raise ProgramError(
            f"dag_op has {len(dag.inputs)} inputs: must be {sizes['inputs']}, as the labels"
        )
    leaves = sizes["inputs"] + sizes["constants"]
    numbers = leaves + np.arange(sizes["operations"])
    for name in ("tree_left", "tree_right"):
        _refuse_first(name, sections[name], sections[name] >= numbers, "an earlier value")
    known = sections["output_row"] < 0
    banks = sections["output_bank"]
    _refuse_first("output_bank", banks, known & (banks >= leaves), "an input or a constant")
    stored = sections["output_row"] >= 0
    _refuse_first(
        "output_bank", banks, stored & (banks >= sizes["banks"]), f"below banks = {sizes['banks']}"
    )
    offsets = dag.offsets
    _refuse_first("dag_offsets", offsets[1:], np.diff(offsets) < 0, "ascending", 1)
    if offsets[0] != 0 or offsets[-1] != len(dag.operands):
        raise ProgramError(
            f"dag_offsets goes from {offsets[0]} to {offsets[-1]}: "
            f"must go from 0 to {len(dag.operands)}"
        )
    users = np.repeat(np.arange(dag.size), np.diff(offsets))
    _refuse_first("dag_operands", dag.operands, dag.operands >= users, "an earlier node")
    leaf = dag.op <= Op.CONST
    _refuse_first("dag_op", dag.op, leaf != (np.diff(offsets) == 0), "one that fits its operands")
    for name in ("constants", "dag_constants"):
        _refuse_first(name, sections[name], ~np.isfinite(sections[name]), "finite")
    config = DpuConfig(**{field.name: sizes[field.name] for field in fields(DpuConfig)})
    size = instruction_memory_bytes(config)
    if len(sections["instructions"]) > size:
        raise ProgramError(
            f"section 'instructions' has {len(sections['instructions']):,} bytes: must be at most "
            f"{size:,}, the instruction memory"
        )
    try:
        split(config, sections["instructions"])
    except ValueError as error:
        raise ProgramError(f"instructions: {error}") from error


def _refuse_first(
    name: str, values: np.ndarray, wrong: np.ndarray, allowed: str, first: int = 0
) -> None:
    """``first`` is the index of ``values[0]`` in its section."""
    refuse_first(
        wrong, lambda at: f"{name}[{at + first}] = {values[at]}: must be {allowed}", ProgramError
    )


STATISTICS = (
    "operations",
    "copies",
    "spills",
    "bound_operations",
    "bound_inputs",
    "bound_critical_path",
    "lower_bound",
)

DPU_SCHEMA = Schema(SECTIONS, _check, STATISTICS, _sizes)
