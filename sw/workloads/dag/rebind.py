"""New input values for a program that is compiled already."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError, damaged_as, short
from gnarl.sw.program.command_files import note_input
from gnarl.sw.program.npz import Npz
from gnarl.sw.workloads.compressed_file import suffix_of
from gnarl.sw.workloads.dag.dag import Dag
from gnarl.sw.workloads.dag.load import load
from gnarl.sw.workloads.dag.node_link_file import is_node_link
from gnarl.sw.workloads.dag.triangular_system import read_matrix, right_hand_side
from gnarl.sw.workloads.dag.workload import DagWorkload
from gnarl.sw.workloads.made_up import MadeUp, without
from gnarl.sw.workloads.refusals import FINITE
from gnarl.sw.workloads.tensor.array_archive import read_numbers
from gnarl.sw.workloads.tensor.sparse_file import is_sparse
from gnarl.sw.workloads.tensor.tensor_files import reading
from gnarl.sw.workloads.text_file import parse_json, read_text

_MATRICES = (".mtx", ".npz")

_SHOWN = 3
"""At most this many names in one error text."""


def values_from_file(
    path: str | Path,
    dag: Dag,
    input_names: np.ndarray,
    defaults: np.ndarray | None = None,
    seed: int = 0,
) -> np.ndarray:
    """Input values, float64 [n_inputs], for a program compiled from ``dag``.

    path
        a JSON file ``{"input name": number, …}``; an .npz file of numbers by name, see
        ``read_numbers``; or a workload file of the same structure, which
        gives new matrix entries, probabilities or input values (``seed`` as in ``load``).
    input_names
        ``StringDType`` [n_inputs], of the program's inputs, in order; ``dag`` itself may be without
        names.
    defaults
        float64 [n_inputs], for inputs that the JSON file leaves out; without, it must give all.

    Raises ``WorkloadError`` naming the file and the first difference or bad value.
    """
    if (data := _names_and_numbers(path)) is not None:
        return _from_names(data, str(path), input_names, defaults)
    if suffix_of(path) in _MATRICES:
        with damaged_as(WorkloadError, path):
            workload: DagWorkload = read_matrix(
                path, seed=seed, unit=not (input_names == "inv[1]").any()
            )
    else:
        workload = load(path, seed)
    _require_same_structure(workload, dag, input_names, str(path))
    return workload.inputs


def made_up_with(path: str | Path, input_names: np.ndarray, own: MadeUp, seed: int = 0) -> MadeUp:
    """What nobody gave of ``values_from_file`` with such arguments; ``own``: of ``defaults``."""
    if (data := _names_and_numbers(path)) is not None:
        return without(own, data)
    if suffix_of(path) in _MATRICES:
        return right_hand_side(input_names.tolist(), seed)
    return load(path, seed).made_up


def _names_and_numbers(path: str | Path) -> Any:
    """What a JSON file has that is no graph, or an .npz file that is no matrix; ``None`` of other
    files."""
    if suffix_of(path) == ".npz":
        return _numbers(Path(path))
    if suffix_of(path) != ".json":
        return None
    with damaged_as(WorkloadError, path):
        data = parse_json(read_text(path), str(path))
    return None if is_node_link(data) else data


def _numbers(path: Path) -> dict[str, float] | None:
    note_input(path)
    with damaged_as(WorkloadError, path), reading(path) as file:
        archive = Npz(file)
        return None if is_sparse(archive) else read_numbers(archive)


def _from_names(
    data: Any, path: str, input_names: np.ndarray, defaults: np.ndarray | None
) -> np.ndarray:
    if not isinstance(data, dict):
        raise WorkloadError(f"{path}: must be an object of input names and numbers")
    number = {name: at for at, name in enumerate(input_names.tolist())}
    unknown = [name for name in data if name not in number]
    if unknown:
        raise WorkloadError(
            f"{path}: no input is called {_some(unknown)}: the program has {len(number)} inputs, "
            f"{_some(list(number))}"
        )
    missing = [name for name in number if name not in data]
    if missing and defaults is None:
        raise WorkloadError(f"{path}: no value for {_some(missing)}: every input must have one")
    values = np.zeros(len(number)) if defaults is None else np.array(defaults, np.float64)
    for name, value in data.items():
        real = isinstance(value, int | float) and not isinstance(value, bool)
        if not real or not math.isfinite(value):
            right = FINITE if real else "must be a number"
            raise WorkloadError(f"{path}: {short(name)} = {short(json.dumps(value))}: {right}")
        values[number[name]] = value
    return values


def _require_same_structure(
    workload: DagWorkload, dag: Dag, input_names: np.ndarray, path: str
) -> None:
    own, names = workload.dag, workload.input_names
    if len(names) != len(input_names):
        raise WorkloadError(
            f"{path}: another structure than the program's: {len(names)} inputs instead of "
            f"{len(input_names)}"
        )
    for at, (name, right) in enumerate(zip(names, input_names, strict=True)):
        if name != right:
            raise WorkloadError(
                f"{path}: another structure than the program's: input {at} is {short(name)} "
                f"instead of {short(right)}"
            )
    for field in ("op", "offsets", "operands", "negative", "constants", "outputs"):
        if not np.array_equal(getattr(own, field), getattr(dag, field)):
            raise WorkloadError(
                f"{path}: another structure than the program's: inputs have the same names, but "
                f"{field} of the DAG differ"
            )


def _some(names: list[str]) -> str:
    """The first few of the names."""
    shown = ", ".join(map(short, names[:_SHOWN]))
    return f"{shown}, … ({len(names)} in all)" if len(names) > _SHOWN else shown
