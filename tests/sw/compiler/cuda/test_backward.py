"""How the backward pass of a model is laid out, and that its kernels compile."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from gnarl.sw.compiler.cuda.backward import SEGMENT, BackwardProgram, TableClass
from gnarl.sw.compiler.cuda.backward_kernels import (
    FIND_EMBEDDINGS,
    PARAMETERS,
    SUM_LOOKUPS,
    backward_source,
)
from gnarl.sw.compiler.cuda.optimizers import (
    SGD,
    Adagrad,
    Adam,
    Optimizer,
    PartialRowWiseAdam,
    RowWiseAdagrad,
)
from gnarl.sw.compiler.cuda.templates.template import INCLUDE
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature
from tests.support.parameters import slow_but


def program_of(
    *features: Feature,
    trained: tuple[bool, ...] | None = None,
    index_type: str = "int64",
    optimizer: Optimizer | None = None,
) -> BackwardProgram:
    """Each feature with a table of its own."""
    tables = tuple(range(len(features)))
    model = EmbeddingModel("m", features)
    return BackwardProgram(model, tables, trained or (True,) * len(tables), index_type, optimizer)


def of_dims(*dims: int) -> list[Feature]:
    return [Feature(f"f{number}", 9, dim) for number, dim in enumerate(dims)]


@pytest.mark.parametrize(
    ("dim", "own"),
    [
        (4, TableClass("float32", 4, 1, 1)),
        (12, TableClass("float32", 4, 4, 1)),
        (128, TableClass("float32", 4, 32, 1)),
        (132, TableClass("float32", 4, 32, 2)),
        (6, TableClass("float32", 2, 4, 1)),
        (7, TableClass("float32", 1, 8, 1)),
    ],
)
def test_lanes_are_as_many_as_a_row_has_vectors(dim: int, own: TableClass) -> None:
    assert list(program_of(*of_dims(dim)).tables_of_class) == [own]


def test_vectors_do_not_straddle_what_gradients_are_aligned_to() -> None:
    # Columns 0, 8 and 10 of 18.
    classes = program_of(*of_dims(8, 2, 8)).tables_of_class
    assert classes == {
        TableClass("float32", 2, 4, 1): [0, 2],
        TableClass("float32", 2, 1, 1): [1],
    }


def test_gradients_of_several_types_are_padded() -> None:
    program = program_of(
        Feature("a", 9, 6, output_type="float16"), Feature("b", 9, 8), Feature("c", 9, 2)
    )
    assert (program.widths, program.width, program.columns) == ([8, 12], 20, [0, 8, 16])


def test_tables_of_a_class_have_neighbouring_keys() -> None:
    program = program_of(*of_dims(4, 8, 4, 8, 4), trained=(True, True, True, False, True))
    assert program.order == [0, 2, 4, 1]
    assert program.first_keys == [0, 9, 18, 27, 36]


@pytest.mark.parametrize(("rows", "type"), [(2**30 - 1, "int32"), (2**30, "int64")])
def test_keys_are_as_wide_as_rows_are_many(rows: int, type: str) -> None:
    program = program_of(Feature("a", 2**30, 4), Feature("b", rows - 1, 4))
    assert program.key_type == type


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        (SEGMENT, []),
        (SEGMENT + 1, [4]),
        (16 * SEGMENT, [32]),
        (16 * SEGMENT + 1, [34, 4]),
        (10**6, [62_500, 3_908, 246, 16]),
    ],
)
def test_slots_shrink_until_one_segment_holds_them(values: int, counts: list[int]) -> None:
    assert program_of(*of_dims(4)).slot_counts(values) == counts
    for before, after in pairwise([values, *counts]):
        assert after == 2 * -(-before // SEGMENT)


def test_slots_have_room_for_any_row() -> None:
    program = program_of(*of_dims(4, 10, 600), trained=(True, True, False))
    assert program.stride == 12


def test_maxima_matter_only_where_a_table_is_trained() -> None:
    features = (Feature("a", 9, 4), Feature("b", 9, 4, "max"))
    assert program_of(*features).has_maxima
    assert not program_of(*features, trained=(True, False)).has_maxima


def test_without_trained_tables_there_are_no_sums() -> None:
    source = backward_source(program_of(*of_dims(4, 8), trained=(False, False)))
    assert [kernel for kernel in PARAMETERS if kernel in source] == list(PARAMETERS)[:4]


WIDE = (
    Feature("a", 2**31 - 1, 4),
    Feature("b", 9, 32, "mean", "float16"),
    Feature("c", 9, 64, "max", "bfloat16"),
    Feature("d", 9, 128, weighted=True),
    Feature("e", 9, 512),
    Feature("f", 9, 8, table_type="int8_rowwise"),
)


@pytest.mark.parametrize("arch", slow_but(["sm_90"], ["sm_75", "sm_80", "sm_90"]))
@pytest.mark.parametrize(
    "optimizer",
    [
        None,
        SGD(0.5),
        Adagrad(0.5, 1),
        RowWiseAdagrad(0.5),
        Adam(0.5),
        PartialRowWiseAdam(0.5, weight_decay=0.1),
        Adam(0.5, weight_decay=0.1, weight_decay_mode="decoupled", stochastic_rounding=True),
    ],
    ids=lambda each: type(each).__name__,
)
def test_kernels_compile_and_spill_nothing(arch: str, optimizer: Optimizer | None) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="needs gnarl[cuda]")
    from gnarl.sw.compiler.cuda.nvrtc import compile_kernel

    index_type, features = ("int32", WIDE[1:]) if arch == "sm_75" else ("int64", WIDE)
    trained = tuple(feature.rowwise is None for feature in features)
    program = program_of(*features, trained=trained, index_type=index_type, optimizer=optimizer)
    source = backward_source(program)
    log = compile_kernel(source, arch, include=[INCLUDE], kernel=SUM_LOOKUPS).log
    kernels = [name for name in PARAMETERS if f"{name}(" in source]
    assert re.findall(r"(\d+) bytes spill stores", log) == ["0"] * len(kernels)
    assert {*PARAMETERS} - {*kernels} == {FIND_EMBEDDINGS}
