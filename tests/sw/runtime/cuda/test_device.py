"""The CUDA target from Python: on the emulation, and on a driver without a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl import Device
from gnarl.hw.lib.errors import ConfigError, WorkloadError
from gnarl.sw.compiler.cuda.fusion import KERNEL, MAP_KERNEL
from gnarl.sw.compiler.cuda.schedule import MAPPINGS
from gnarl.sw.compiler.cuda.warp_fusion import WARP_KERNEL
from gnarl.sw.program.tensor_spec import Dense, Ragged
from gnarl.sw.runtime.cuda.emulation.embedding import EmulatedEmbedding
from gnarl.sw.runtime.cuda.emulation.kernels import EmulatedKernels
from gnarl.sw.runtime.machine.result import Result
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.data import synthesise_batch, synthesise_tables
from gnarl.sw.workloads.embedding.model import (
    Batch,
    EmbeddingModel,
    Feature,
    FeatureInputs,
    PoolingFactors,
)
from tests.support.cuda import fake_cuda
from tests.support.cuda.fake_cuda import fake_gpus

MODEL = EmbeddingModel(
    "pair",
    (
        Feature("one", 100, 4),
        Feature("many", 50, 8, weighted=True, factors=PoolingFactors(20, 10)),
    ),
)
TABLES = synthesise_tables(MODEL)
BATCH = synthesise_batch(MODEL, 200)


BLOCKS = load_configuration("cuda_sm90", ["workers=blocks"])


def looked_up(backend: str, mapping: str | None) -> Result[Any]:
    """By blocks where there is a mapping, by warps where there is none."""
    device = Device("cuda_sm90" if mapping is None else BLOCKS, backend)
    return device.run(device.compile(MODEL), (TABLES, BATCH), mapping=mapping)


def assert_golden(result: Result[Any]) -> None:
    found = Device("cuda_sm90", "emulation").verify(result)
    assert (found.bit_exact, found.difference) == (True, "")


def by_name(batch: Batch = BATCH) -> dict[str, Any]:
    one, many = batch.features
    return {
        "one.table": TABLES[0],
        "one.indices": one.indices,
        "one.offsets": one.offsets,
        "many.table": TABLES[1],
        "many.indices": many.indices,
        "many.offsets": many.offsets,
        "many.weights": many.weights,
    }


def test_inputs_and_outputs_are_tensors_whose_sizes_each_run_chooses() -> None:
    device = Device("cuda_sm90", "emulation")
    program = device.compile(MODEL)
    assert [(spec.name, spec.shape, spec.type, spec.storage) for spec in program.inputs] == [
        ("one.table", (100, 4), "float32", Dense()),
        ("one.indices", ("one.values",), "int64", Ragged("one.offsets")),
        ("one.offsets", ("batch+1",), "int64", Dense()),
        ("many.table", (50, 8), "float32", Dense()),
        ("many.indices", ("many.values",), "int64", Ragged("many.offsets")),
        ("many.offsets", ("batch+1",), "int64", Dense()),
        ("many.weights", ("many.values",), "float32", Ragged("many.offsets")),
    ]
    assert [(spec.name, spec.shape, spec.type) for spec in program.outputs] == [
        ("one", ("batch", 4), "float32"),
        ("many", ("batch", 8), "float32"),
    ]
    for size in (0, 1, 200):
        batch = synthesise_batch(MODEL, size)
        result = device.run(program, by_name(batch))
        assert {name: array.shape for name, array in result.outputs.items()} == {
            "one": (size, 4),
            "many": (size, 8),
        }
        assert_golden(result)
        assert_golden(device.run(program, result.tensors))


@pytest.mark.parametrize("mapping", [None, "contiguous"])
def test_a_model_is_plotted(mapping: str | None) -> None:
    (axes,) = looked_up("emulation", mapping).plot().axes
    assert axes.get_title(loc="left").startswith("pair on cuda_sm90, 200 samples")


def test_arrays_by_name_may_have_other_whole_numbers_as_indices() -> None:
    arrays = by_name()
    arrays["one.indices"] = arrays["one.indices"].astype(np.uint8)
    arrays["many.offsets"] = arrays["many.offsets"].tolist()
    device = Device("cuda_sm90", "emulation")
    assert_golden(device.run(device.compile(MODEL), arrays))


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("one.table", None, "one.table: is missing"),
        ("many.offsets", None, "many.offsets: is missing"),
        ("many.weights", None, "many.weights: is missing"),
        ("many.table", np.zeros((50, 7)), "many.table: has shape [50, 7]: must be [50, 8]"),
        (
            "many.offsets",
            BATCH.features[1].offsets[:-1],
            "offsets of many: 200 values: must be 201 for 200 samples",
        ),
        (
            "other.table",
            TABLES[0],
            "other.table: the model has no such array; names are FEATURE.indices, "
            "FEATURE.offsets, FEATURE.weights and FEATURE.table, features one to many",
        ),
    ],
)
def test_arrays_by_name_that_are_not_the_models(
    name: str, array: np.ndarray | None, message: str
) -> None:
    arrays = by_name()
    arrays.pop(name, None)
    if array is not None:
        arrays[name] = array
    assert refusal(arrays) == message


def test_inputs_of_another_kind() -> None:
    text = "inputs are a list: must be arrays by name, or tables and a Batch"
    assert refusal(TABLES) == text


def test_an_unknown_mapping() -> None:
    with pytest.raises(WorkloadError) as caught:
        looked_up("emulation", "random")
    assert str(caught.value) == f"mapping = 'random': must be one of {', '.join(MAPPINGS)}"


def test_warps_have_no_mapping() -> None:
    device = Device("cuda_sm90", "emulation")
    program = device.compile(MODEL)
    for mapping in ("device", "random"):
        with pytest.raises(WorkloadError) as caught:
            device.run(program, (TABLES, BATCH), mapping=mapping)
        assert str(caught.value) == (
            f"mapping = '{mapping}': not supported where workers are warps, whose tasks follow "
            "from the batch's size: must be left out, or workers = blocks"
        )


def test_tables_that_are_there_already_are_not_loaded_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = []
    make = EmulatedEmbedding.__init__

    def recorded(self: EmulatedEmbedding, *arguments: Any) -> None:
        made.append(arguments)
        make(self, *arguments)

    monkeypatch.setattr(EmulatedEmbedding, "__init__", recorded)
    device = Device("cuda_sm90", "emulation")
    program = device.compile(MODEL)
    first = device.run(program, (TABLES, BATCH))
    assert_golden(device.run(program, (list(TABLES), synthesise_batch(MODEL, 7))))
    device.run(program, first.tensors)
    program.save(tmp_path / "pair.npz")
    device.run(load_program(tmp_path / "pair.npz", device.configuration), first.tensors)
    assert len(made) == 1
    others = [2 * table for table in TABLES]
    again = device.run(program, (others, BATCH))
    assert len(made) == 2
    assert (again.outputs["one"] == 2 * np.asarray(first.outputs["one"])).all()


def test_a_bad_batch_leaves_the_machine_usable() -> None:
    device = Device("cuda_sm90", "emulation")
    program = device.compile(MODEL)
    with pytest.raises(WorkloadError):
        device.run(program, (TABLES, with_indices(OUT_OF_RANGE)))
    assert_golden(device.run(program, (TABLES, BATCH)))


def test_a_gpu_or_its_emulation_has_no_waves(tmp_path: Path) -> None:
    device = Device("cuda_sm90", "emulation", waves=tmp_path / "x.fst")
    with pytest.raises(ConfigError) as caught:
        device.run(device.compile(MODEL), (TABLES, BATCH))
    assert str(caught.value) == "waves: not supported by target cuda: must be left out"


KERNELS: list[tuple[str | None, list[str]]] = [
    ("contiguous", [KERNEL]),
    ("device", [MAP_KERNEL, KERNEL]),
    (None, [WARP_KERNEL]),
]
"""What is launched, by the mapping."""


@pytest.mark.parametrize(("mapping", "expected"), KERNELS)
def test_the_emulated_gpu_maps_threads_where_it_is_asked_to(
    mapping: str | None, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = []
    launch = EmulatedKernels.launch

    def recorded(self: EmulatedKernels, kernel: str, *arguments: Any, **options: Any) -> Any:
        kernels.append(kernel)
        return launch(self, kernel, *arguments, **options)

    monkeypatch.setattr(EmulatedKernels, "launch", recorded)
    assert_golden(looked_up("emulation", mapping))
    assert kernels == expected


def _on_gpu(mapping: str | None) -> tuple[Result[Any], list[str]]:
    before = len(fake_cuda.launches)
    result = looked_up("cuda", mapping)
    return result, [launch["kernel"] for launch in fake_cuda.launches[before:]]


def test_a_gpu_maps_threads_where_it_is_asked_to() -> None:
    with fake_gpus() as call:
        for mapping, expected in KERNELS:
            result, kernels = call(_on_gpu, mapping)
            assert_golden(result)
            assert kernels == expected
            assert result.counters["kernel_ns"] > 0


def test_tables_may_begin_anywhere_in_memory() -> None:
    skewed = np.frombuffer(bytearray(4 + TABLES[0].nbytes), np.float32, offset=4).reshape(100, 4)
    skewed[:] = TABLES[0]
    device = Device("cuda_sm90", "emulation")
    assert_golden(device.run(device.compile(MODEL), ([skewed, TABLES[1]], BATCH)))


def refusal(inputs: Any) -> str:
    device = Device("cuda_sm90", "emulation")
    with pytest.raises(WorkloadError) as caught:
        device.run(device.compile(MODEL), inputs)
    return str(caught.value)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (TABLES[:1], "tables: there are 1: must be 2, one for each feature"),
        (
            [TABLES[0], TABLES[1].astype(np.float64)],
            "table of many: is float64 [50, 8]: must be float32 [50, 8]",
        ),
        (
            [TABLES[0][:99], TABLES[1]],
            "table of one: is float32 [99, 4]: must be float32 [100, 4]",
        ),
    ],
)
def test_tables_that_are_not_the_models(tables: list[np.ndarray], message: str) -> None:
    assert refusal((tables, BATCH)) == message


def with_indices(indices: np.ndarray) -> Batch:
    first, second = BATCH.features
    return Batch(BATCH.size, [FeatureInputs(indices, first.offsets), second])


@pytest.mark.parametrize("mapping", [None, "contiguous"])
def test_indices_past_the_last_offset_are_left_out(mapping: str | None) -> None:
    device = Device("cuda_sm90" if mapping is None else BLOCKS, "emulation")
    first, second = BATCH.features
    longer = FeatureInputs(np.append(first.indices, 10**9), first.offsets)
    found = device.run(device.compile(MODEL), (TABLES, Batch(BATCH.size, [longer, second])))
    assert_golden(found)
    wanted = looked_up("emulation", mapping).outputs
    assert all(np.array_equal(found.outputs[name], output) for name, output in wanted.items())


OUT_OF_RANGE = BATCH.features[0].indices.copy()
OUT_OF_RANGE[7] = 100


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (
            Batch(BATCH.size, BATCH.features[:1]),
            "batch: inputs of 1 features: must be 2, as model pair has",
        ),
        (
            with_indices(BATCH.features[0].indices.astype(np.int32)),
            "indices of one: int32 [200]: must be a NumPy vector of int64",
        ),
        (
            with_indices(BATCH.features[0].indices[:-1]),
            "offsets of one[200] = 200: must be 199, the number of indices",
        ),
    ],
)
def test_inputs_that_are_not_the_models(batch: Batch, message: str) -> None:
    assert refusal((TABLES, batch)) == message


def test_an_index_out_of_range() -> None:
    text = "indices of one[7] = 100: must be from 0 to 99"
    assert refusal((TABLES, with_indices(OUT_OF_RANGE))) == text
