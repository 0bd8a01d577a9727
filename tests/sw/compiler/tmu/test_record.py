"""Dumps of every level are read back and go on to the same program, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.passes import StoppedError, Trace
from gnarl.sw.compiler.tmu.compile import compile
from gnarl.sw.compiler.tmu.optimise import optimise
from gnarl.sw.compiler.tmu.record import DumpedWorkload, dumped, read_dump
from gnarl.sw.compiler.tmu.steps import PASSES_OF
from gnarl.sw.program.program import Program
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature
from gnarl.sw.workloads.loops.embedding_model import ModelWorkload
from gnarl.sw.workloads.loops.expressions.tensor_expression import expression_workload
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.operations.embedding_bag import (
    embedding_bag_lengths,
    embedding_bag_mean,
    embedding_bag_sum,
)
from gnarl.sw.workloads.loops.sources import named_workload
from gnarl.sw.workloads.loops.workload import LoopWorkload
from tests.support.tmu.programs import bags

CONFIG = TmuConfig(lanes=4)
BAGS = bags(np.random.default_rng(0), [3, 0, 2], 9)


def bag(nest: Nest, **inputs: np.ndarray) -> LoopWorkload:
    found = {name: array for name, array in BAGS.items() if name in nest.arrays}
    return LoopWorkload(nest.name, nest, {**found, **inputs})


FEATURES = (Feature("b", 9, 4), Feature("a", 9, 4, "max"), Feature("c", 9, 4))
WORKLOADS = {
    "two loops": bag(embedding_bag_mean),
    "running sums": bag(embedding_bag_lengths),
    "a result that is given": bag(embedding_bag_sum, out=np.ones((3, 9), np.float32)),
    "sums by lanes": named_workload("knowledge_graph_l1:tiny"),
    "an expression": expression_workload("y=B(i,j)*x(j) -f=B:ds", {"B": np.eye(3), "x": [1, 2, 3]}),
    "a compressed result": expression_workload(
        "Y(i,j)=B(i,j)+C(i,j) -f=Y:ss -f=B:ss -f=C:ss", {"B": np.eye(3), "C": np.tri(3)}
    ),
    "a model": ModelWorkload(EmbeddingModel("three", FEATURES)),
}
MANNERS: dict[str, dict[str, Any]] = {
    **{f"level {opt}": {"opt": opt} for opt in range(5)},
    "in order": {"reassociate": False},
    "coupled": {"coupled": True},
}
CASES = [
    *((name, "level 4") for name in WORKLOADS),
    *(("two loops", f"level {opt}") for opt in range(4)),
    *(("sums by lanes", manner) for manner in ("level 1", "coupled")),
    pytest.param("sums by lanes", "in order", marks=pytest.mark.slow),
    ("a model", "coupled"),
]


@cache
def dumps(name: str, **options: Any) -> tuple[Program, dict[str, str]]:
    """The program of one of ``WORKLOADS``, and the text of each pass, in order."""
    found: dict[str, str] = {}

    def write(name: str, texts: Mapping[str, str]) -> None:
        found[name] = texts["mlir"]

    return compile(WORKLOADS[name], CONFIG, trace=Trace(write=write), **options), found


def contents(program: Program) -> list[Any]:
    parts = [
        (
            launch.name,
            launch.inputs,
            launch.outputs,
            launch.statistics,
            {name: (array.shape, array.tobytes()) for name, array in launch.sections.items()},
        )
        for launch in program.launches
    ]
    return [program.workload, program.inputs, program.outputs, program.digest, *parts]


@pytest.mark.parametrize("name, manner", CASES)
def test_every_dump_gives_the_same_program(name: str, manner: str) -> None:
    """Each gives the next pass's dump; the first, one in the middle and the last the program."""
    options = MANNERS[manner]
    program, texts = dumps(name, **options)
    program.check()
    names = [*texts]
    assert names == [one for one in PASSES_OF["coupled" in options] if one in texts]
    for place, text in enumerate(texts.values()):
        dump = read_dump(text, "a.mlir")
        assert dumped(dump.name, dump.steps, CONFIG) == text
        if place in (0, len(names) // 2, len(names) - 1):
            assert contents(compile(dump, CONFIG, trace=Trace())) == contents(program)
        else:
            assert text_behind(dump, names[place + 1]) == texts[names[place + 1]]


def text_behind(dump: DumpedWorkload, name: str) -> str:
    """The text of pass ``name``, which is the next one."""
    dumps: list[str] = []
    trace = Trace(write=lambda _, texts: dumps.append(texts["mlir"]), only=(name,), stop_after=name)
    with pytest.raises(StoppedError):
        compile(dump, CONFIG, trace=trace)
    (text,) = dumps
    return text


@pytest.mark.parametrize("name", ("sums by lanes", "a model"))
def test_passes_by_name_go_on_to_the_same_program(name: str) -> None:
    program, texts = dumps(name, opt=2)
    text = texts["scf"]
    for each in list(texts)[1:]:
        text = optimise(text, "a.mlir", [each], CONFIG)
        assert text == texts[each]
    assert contents(compile(read_dump(text, "a.mlir"), CONFIG, trace=Trace())) == contents(program)


@pytest.mark.parametrize("name", ("sums by lanes", "a model"))
def test_passes_of_coupled_programs_by_name(name: str) -> None:
    """One by one and at once; names alone do not say whose passes they are, but the dump does."""
    program, texts = dumps(name, coupled=True)
    first, *rest = texts
    text = texts[first]
    for each in rest:
        text = optimise(text, "a.mlir", [each], CONFIG)
        assert text == texts[each]
    assert optimise(texts[first], "a.mlir", rest, CONFIG) == text
    assert contents(compile(read_dump(text, "a.mlir"), CONFIG, trace=Trace())) == contents(program)


@pytest.mark.parametrize(
    "behind, passes, wanted",
    [
        ("scf", "hoist,decouple", "hoist,vectorize,keep_sums,lower"),
        ("hoist", "keep_sums", "vectorize,keep_sums,lower"),
        ("lower", "hoist", "none"),
    ],
)
def test_passes_that_coupled_programs_lack(behind: str, passes: str, wanted: str) -> None:
    text = dumps("two loops", coupled=True)[1][behind]
    with pytest.raises(WorkloadError) as caught:
        optimise(text, "a.mlir", passes.split(","), CONFIG)
    assert str(caught.value) == (
        f"a.mlir: passes {passes}: behind {behind} of a coupled program must be {wanted}, or the "
        "first of these"
    )


def test_an_early_dump_is_of_any_configuration() -> None:
    workload, other = WORKLOADS["two loops"], TmuConfig(lanes=8)
    wanted = contents(compile(workload, other, trace=Trace()))
    texts = dumps("two loops")[1]
    for name in ("scf", "hoist", "decouple"):
        found = compile(read_dump(texts[name], "a.mlir"), other, trace=Trace())
        assert contents(found) == wanted
    with pytest.raises(WorkloadError) as caught:
        compile(read_dump(texts["vectorize"], "a.mlir"), other, trace=Trace())
    message = (
        "a.mlir: its passes up to vectorize were for another configuration: must be for this one, "
        "or a dump of scf, select, hoist, decouple"
    )
    assert str(caught.value) == message
    with pytest.raises(WorkloadError) as caught:
        optimise(texts["vectorize"], "a.mlir", ["first_iterations"], other)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "name, old, new, message",
    [
        (
            "two loops",
            "gnarl =",
            "other =",
            "a.mlir: no attribute gnarl: must be what gnarl compile --dump has written",
        ),
        (
            "two loops",
            'pass = "scf"',
            'pass = "none"',
            "a.mlir: pass = 'none': must be one of scf, select, hoist, decouple, vectorize, "
            "first_iterations, store_streams, bufferize, align_queues, keep_sums, "
            "fetch_rows, forward_stores, keep_rows, partial_sums, repeat_fibers, prefetch_rows, "
            "count_iterations, stream_places, delay_stores, split_masks, store_lanes, lower",
        ),
        (
            "two loops",
            'pass = "scf"',
            'pass = "lower"',
            "a.mlir: pass = 'lower': the module is SCF: must be DLC",
        ),
        (
            "two loops",
            'launch = "embedding_bag_mean", ',
            "",
            "a.mlir: attribute gnarl: cannot be understood: KeyError: 'launch'",
        ),
        (
            "two loops",
            '"table", ',
            "",
            "a.mlir: inputs: must be indices, offsets, table",
        ),
        (
            "an expression",
            'names = "B_segments1',
            'names = "C_segments1',
            "a.mlir: the arguments of func.func must be those of its nest: "
            "B_segments1 memref<4xi32>, B_coordinates1 memref<3xi32>, B_values memref<3xf32>, "
            "x_values memref<3xf32>, y memref<1xf32>",
        ),
        (
            "a model",
            'workload = "three", launch = "max',
            'workload = "four", launch = "max',
            "a.mlir: modules must be of one program, behind the same pass",
        ),
    ],
)
def test_refusals(name: str, old: str, new: str, message: str) -> None:
    text = dumps(name, opt=0)[1]["scf"]
    assert old in text
    with pytest.raises(WorkloadError) as caught:
        read_dump(text.replace(old, new, 1), "a.mlir")
    assert str(caught.value) == message


def test_a_module_that_no_pass_makes() -> None:
    text = dumps("a result that is given", opt=0)[1]["lower"]
    dump = read_dump(text.replace('case"() <{token = "case_0"', 'case"() <{token = "x"'), "a.mlir")
    with pytest.raises(WorkloadError) as caught:
        compile(dump, CONFIG, trace=Trace())
    assert str(caught.value) == "a.mlir: cannot be understood: KeyError: 'case_0'"


def test_launches_that_differ_in_what_they_run_on() -> None:
    """Programs of both kinds have as many passes at level 0."""
    text = dumps("a model", opt=0)[1]["scf"]
    assert text.count("coupled = 0") > 1
    dump = read_dump("coupled = 1".join(text.rsplit("coupled = 0", 1)), "a.mlir")
    with pytest.raises(WorkloadError) as caught:
        compile(dump, CONFIG, trace=Trace())
    reason = "ValueError: launches must have the same passes before them"
    assert str(caught.value) == f"a.mlir: cannot be understood: {reason}"


def test_what_a_dump_is_behind_is_not_timed() -> None:
    for options in ({"opt": 1}, {"coupled": True}):
        names = [*dumps("two loops", **options)[1]]
        for number, text in enumerate(dumps("two loops", **options)[1].values(), 1):
            trace = Trace()
            compile(read_dump(text, "a.mlir"), CONFIG, trace=trace)
            assert sorted(trace.times) == sorted(names[number:])


@pytest.mark.parametrize(
    "options, named",
    [
        ({"opt": 4}, "--opt"),
        ({"coupled": True}, "--coupled"),
        ({"batch": 2}, "--batch"),
        ({"ref": True}, "--ref"),
        ({"reassociate": False}, "--no-reassociate"),
    ],
)
def test_options_that_a_dump_has_already(options: dict[str, Any], named: str) -> None:
    dump = read_dump(dumps("a model", opt=0)[1]["scf"], "a.mlir")
    with pytest.raises(WorkloadError) as caught:
        compile(dump, CONFIG, trace=Trace(), **options)
    assert str(caught.value) == f"{named}: a.mlir has its own: must be left out"
