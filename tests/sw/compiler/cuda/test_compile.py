"""Programs of embedding models: their passes, and files that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.cuda_parts.uniform import uniform_schedules
from gnarl.hw.lib.errors import ProgramError, WorkloadError
from gnarl.sw.compiler.cuda import schedule_file
from gnarl.sw.compiler.cuda.compile import PASSES, compile
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.cost_model import choose_schedules
from gnarl.sw.compiler.cuda.sections import decode
from gnarl.sw.compiler.passes import PassError, StoppedError, Trace
from gnarl.sw.program.archive import read_archive, write_archive
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature, PoolingFactors

MODEL = EmbeddingModel(
    "three",
    (
        Feature("one", 100, 4),
        Feature("alike", 100, 4),
        Feature("many", 50, 8, "mean", weighted=True, factors=PoolingFactors(20, 10, 40, 0.5)),
    ),
)
CONFIG = CudaConfig()


BLOCKS = CudaConfig(workers="blocks")


def traced(
    config: CudaConfig = CONFIG, **options: Any
) -> tuple[Program, dict[str, Mapping[str, str]]]:
    found: dict[str, Mapping[str, str]] = {}
    program = compile(MODEL, config, trace=Trace(write=found.__setitem__), **options)
    return program, found


@pytest.mark.parametrize(
    ("config", "first"),
    [
        (BLOCKS, "one_hot(vector=4, samples_per_thread=1)"),
        (CONFIG, "pooled_bags(vector=4, rows=1)"),
    ],
    ids=lambda each: getattr(each, "workers", ""),
)
def test_each_pass_shows_what_it_made(config: CudaConfig, first: str) -> None:
    program, found = traced(config)
    assert list(found) == [each.name for each in PASSES] == ["group", "schedule", "fuse"]
    groups = found["group"]["txt"].splitlines()
    assert groups[:2] == [
        "group 0: 100 rows of 4 float32, sum, float32 outputs, 1 ± 0 indices a "
        "sample, none in 0 of the samples",
        "  features one alike",
    ]
    assert f"  128 threads a block: {first}" in groups
    assert "  features many" in groups
    compiled = decode(program.launches[0])
    schedules = compiled.schedules
    assert found["schedule"]["txt"].splitlines() == [
        f"sm_90, 128 threads a block, {schedules.blocks_per_sm} blocks a multiprocessor: "
        "cost model",
        *(f"{f.name}: {schedules.schedule(at)}" for at, f in enumerate(MODEL.features)),
    ]
    assert found["fuse"] == {"cu": compiled.kernel.source}


def test_what_is_compiled_is_what_is_decoded() -> None:
    program = compile(MODEL, CONFIG)
    compiled = decode(program.launches[0])
    assert compiled.model == MODEL
    assert compiled.schedules == choose_schedules(MODEL, CONFIG)
    assert decode(compile(MODEL, CONFIG).launches[0]) is compiled


def test_schedules_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "schedules.json"
    uniform = uniform_schedules(MODEL, CONFIG)
    schedule_file.save(path, uniform)
    program, found = traced(schedules=path)
    assert decode(program.launches[0]).schedules == uniform
    assert found["schedule"]["txt"].count("warp_per_sample") == 3


@pytest.mark.parametrize("name", [each.name for each in PASSES])
def test_it_stops_after_each_pass(name: str) -> None:
    with pytest.raises(StoppedError, match=f"^{name}$"):
        compile(MODEL, CONFIG, trace=Trace(stop_after=name))


def test_schedules_that_cannot_be_are_the_passes_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = choose_schedules(MODEL, CONFIG)
    monkeypatch.setattr(
        "gnarl.sw.compiler.cuda.compile.choose_for_sizes",
        lambda *_: replace(chosen, blocks_per_sm=99),
    )
    with pytest.raises(PassError) as caught:
        traced()
    assert str(caught.value) == (
        "pass schedule: schedules: blocks_per_sm = 99: must be from 1 to 16"
    )


def test_a_feature_with_the_name_of_anothers_input() -> None:
    model = EmbeddingModel("twins", (Feature("a", 10, 4), Feature("a.table", 10, 4)))
    with pytest.raises(WorkloadError) as caught:
        compile(model, CONFIG)
    assert str(caught.value) == (
        "feature a.table: an input tensor of another feature has that name"
    )


# Files.


def refusal(folder: Path, change: Callable[[dict[str, Any], dict[str, np.ndarray]], None]) -> str:
    """Why the program's file is refused once its manifest or sections are changed."""
    path = folder / "three.npz"
    compile(MODEL, CONFIG).save(path)
    manifest, sections = read_archive(path.read_bytes())
    change(manifest, sections)
    write_archive(path, manifest, sections)
    with pytest.raises(ProgramError) as caught:
        load_program(path)
    return str(caught.value).removeprefix(f"{path}: ")


def test_a_file_is_the_program(tmp_path: Path) -> None:
    program = compile(MODEL, CONFIG)
    program.save(tmp_path / "three.npz")
    loaded = load_program(tmp_path / "three.npz")
    assert (loaded.inputs, loaded.outputs) == (program.inputs, program.outputs)
    assert decode(loaded.launches[0]) is decode(program.launches[0])


def _plan(sections: dict[str, np.ndarray], change: Callable[[Any], None]) -> None:
    plan = json.loads(sections["plan"].tobytes())
    change(plan)
    sections["plan"] = np.frombuffer(json.dumps(plan).encode(), np.uint8)


def test_a_tensor_that_is_not_the_models(tmp_path: Path) -> None:
    def other_dim(manifest: dict[str, Any], sections: dict[str, np.ndarray]) -> None:
        manifest["tensors"][0]["shape"] = [100, 5]

    text = "tensors: must be those of the features in section 'plan'"
    assert refusal(tmp_path, other_dim) == text


def test_codes_of_another_number_of_features(tmp_path: Path) -> None:
    def fewer(manifest: dict[str, Any], sections: dict[str, np.ndarray]) -> None:
        sections["codes"] = sections["codes"][:2]

    text = "codes has 2 features: must be 3, as section 'plan'"
    assert refusal(tmp_path, fewer) == text


def test_a_plan_with_an_unknown_template(tmp_path: Path) -> None:
    def renamed(plan: Any) -> None:
        plan["schedules"]["schedules"][0]["template"] = "magic"

    text = refusal(tmp_path, lambda manifest, sections: _plan(sections, renamed))
    assert text.startswith("section 'plan': schedules[0]: template = 'magic': must be one of ")


def test_a_plan_with_a_bad_feature(tmp_path: Path) -> None:
    def negative(plan: Any) -> None:
        plan["model"]["features"][0]["rows"] = -1

    text = refusal(tmp_path, lambda manifest, sections: _plan(sections, negative))
    assert text == (
        "section 'plan': feature one: rows = -1: must be a whole number from 1 to 2147483647"
    )


def test_a_plan_with_a_repeated_key(tmp_path: Path) -> None:
    def repeat(manifest: dict[str, Any], sections: dict[str, np.ndarray]) -> None:
        text = b'{"model": 1, ' + sections["plan"].tobytes()[1:]
        sections["plan"] = np.frombuffer(text, np.uint8)

    text = refusal(tmp_path, repeat)
    assert text == (
        "section 'plan': cannot be understood: ValueError: duplicate key 'model' in one object"
    )


def test_a_plan_that_is_not_json(tmp_path: Path) -> None:
    def cut(manifest: dict[str, Any], sections: dict[str, np.ndarray]) -> None:
        sections["plan"] = sections["plan"][:-1]

    text = refusal(tmp_path, cut)
    assert text.startswith("section 'plan': cannot be understood: JSONDecodeError: ")


SOURCES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "more": (
        lambda source: source + b'#include "/etc/passwd"',
        "line {lines} is '#include \"/etc/passwd\"'",
    ),
    "less": (lambda source: source[:-1], "line {lines} is missing"),
    "another": (lambda source: b"int system;" + source, "line 1 is 'int system;// The embedding"),
    "longer": (lambda source: b"//" + bytes(500), "line 1 is '//\\x00"),
    "not text": (lambda source: b"\xff", "line 1 is '\\ufffd'"),
    "empty": (lambda source: b"", "line 1 is ''"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_that_is_not_what_the_plan_gives(tmp_path: Path, name: str) -> None:
    change, text = SOURCES[name]
    lines = len(decode(compile(MODEL, CONFIG).launches[0]).kernel.source.split("\n"))

    def changed(manifest: dict[str, Any], sections: dict[str, np.ndarray]) -> None:
        source = change(sections["source"].tobytes())
        sections["source"] = np.frombuffer(source, np.uint8)

    found = refusal(tmp_path, changed)
    assert found.startswith(f"section 'source': {text.replace('{lines}', str(lines))}")
    assert found.endswith(": does not match what section 'plan' gives: compile the workload again")
    assert len(found) < 200


def test_what_runs_is_generated_from_the_plan() -> None:
    program = compile(MODEL, CONFIG)
    (launch,) = program.launches
    octets = np.frombuffer(b"#error", np.uint8)
    spoilt = replace(launch, sections={**launch.sections, "source": octets})
    assert decode(spoilt) is decode(launch)


def test_codes_that_are_not_what_the_plan_gives(tmp_path: Path) -> None:
    def other(manifest: dict[str, Any], sections: dict[str, np.ndarray]) -> None:
        sections["codes"] = np.array([0, 1, 1], np.int32)

    assert refusal(tmp_path, other) == "codes[1] = 1: must be 0, as section 'plan'"


@pytest.mark.parametrize("name", ["shared_bytes", "blocks_per_sm", "source_bytes"])
def test_statistics_that_are_not_what_the_plan_gives(tmp_path: Path, name: str) -> None:
    right = compile(MODEL, CONFIG).statistics[name]

    def other(manifest: dict[str, Any], sections: dict[str, np.ndarray]) -> None:
        manifest["launches"][0]["statistics"][name] = 2**40

    text = f"statistics.{name} is {2**40}: must be {right}, as section 'plan'"
    assert refusal(tmp_path, other) == text


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2J", "a\u2028", 3, None, ["a"], {"a": 1}])
def test_a_plan_with_a_model_that_has_no_proper_name(tmp_path: Path, name: Any) -> None:
    def named(plan: Any) -> None:
        plan["model"]["name"] = name

    text = refusal(tmp_path, lambda manifest, sections: _plan(sections, named))
    assert text == f"section 'plan': model {name!r}: must be named by printable characters"


@pytest.mark.parametrize("name", ["a\\", "*/ int x; /*", '"#include <cstdlib>', "??/", "ünï"])
def test_names_stay_in_the_comment(name: str) -> None:
    model = EmbeddingModel(name, MODEL.features)
    lines = decode(compile(model, CONFIG).launches[0]).kernel.source.split("\n")
    whole = decode(compile(MODEL, CONFIG).launches[0]).kernel.source.split("\n")
    assert lines[1:] == whole[1:]
    assert lines[0] == whole[0].replace('"three"', json.dumps(name))
    assert lines[0].isascii()
