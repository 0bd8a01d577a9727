"""Schedule files: round trips, and what is said of files that are of no use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.sw.compiler.cuda import schedule_file
from gnarl.sw.compiler.cuda.config import WORKERS, CudaConfig
from gnarl.sw.compiler.cuda.schedule import Schedule, ScheduleSet
from gnarl.sw.compiler.cuda.templates import templates
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature
from tests.support.errors import refused

CONFIG = CudaConfig(arch="sm_80", block_threads=128)
MODEL = EmbeddingModel("ads", tuple(Feature(f"f{at}", 10, dim) for at, dim in enumerate((4, 8, 4))))
SCHEDULES = ScheduleSet(
    model=MODEL.digest,
    arch="sm_80",
    block_threads=128,
    blocks_per_sm=8,
    schedules=(
        Schedule.of("one_hot", vector=4, samples_per_thread=1),
        Schedule.of("one_hot", vector=2, samples_per_thread=4),
    ),
    of_feature=(0, 1, 0),
    origin="by hand",
)


def read(text: str, model: EmbeddingModel = MODEL, config: CudaConfig = CONFIG) -> ScheduleSet:
    return schedule_file.from_text(text, model, config, "s.json")


def changed(change: Callable[[dict[str, Any]], Any]) -> str:
    """The file's text after a change to its fields."""
    fields = json.loads(schedule_file.to_text(SCHEDULES))
    change(fields)
    return json.dumps(fields)


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    schedule_file.save(path, SCHEDULES)
    assert schedule_file.load(path, MODEL, CONFIG) == SCHEDULES
    assert [file.name for file in tmp_path.iterdir()] == ["s.json"]


def test_text() -> None:
    assert (
        schedule_file.to_text(SCHEDULES)
        == f"""{{
"version": 1,
"model": "{MODEL.digest}",
"arch": "sm_80",
"block_threads": 128,
"blocks_per_sm": 8,
"origin": "by hand",
"schedules": [
{{"template": "one_hot", "parameters": {{"vector": 4, "samples_per_thread": 1}}}},
{{"template": "one_hot", "parameters": {{"vector": 2, "samples_per_thread": 4}}}}
],
"of_feature": [0, 1, 0]
}}
"""
    )


def test_order_of_parameters_in_the_file_does_not_matter() -> None:
    def turn(fields: dict[str, Any]) -> None:
        entry = fields["schedules"][0]
        entry["parameters"] = dict(reversed(entry["parameters"].items()))

    assert read(changed(turn)) == SCHEDULES


@given(st.data())
def test_round_trip_of_any_schedules(data: st.DataObject) -> None:
    dims = data.draw(st.lists(st.sampled_from((1, 3, 4, 7, 8, 32, 100, 128)), min_size=1))
    model = EmbeddingModel("any", tuple(Feature(f"f{at}", 10, dim) for at, dim in enumerate(dims)))
    workers = data.draw(st.sampled_from(WORKERS))
    kinds = [each for each in templates().values() if each.workers == workers]
    chosen = [
        data.draw(st.sampled_from([one for each in kinds for one in each.candidates(feature, 128)]))
        for feature in model.features
    ]
    schedules = tuple(dict.fromkeys(chosen))
    found = ScheduleSet(
        model=model.digest,
        arch="sm_80",
        block_threads=128,
        blocks_per_sm=data.draw(st.integers(1, 16)),
        schedules=schedules,
        of_feature=tuple(schedules.index(one) for one in chosen),
        origin=data.draw(st.text()),
    )
    assert read(schedule_file.to_text(found), model) == found


def test_no_file(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    with refused(f"{path}: No such file or directory"):
        schedule_file.load(path, MODEL, CONFIG)


def test_a_failed_save_leaves_the_older_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.json"
    schedule_file.save(path, SCHEDULES)

    def full(self: Path, text: str, **options: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space left"):
        schedule_file.save(path, SCHEDULES)
    monkeypatch.undo()
    assert schedule_file.load(path, MODEL, CONFIG) == SCHEDULES
    assert [file.name for file in tmp_path.iterdir()] == ["s.json"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "s.json:1: invalid JSON at column 1: Expecting value"),
        (
            '{\n"version": 1,\n"model"\n}',
            "s.json:4: invalid JSON at column 1: Expecting ':' delimiter",
        ),
        ("[]", "s.json: must be a JSON object, as gnarl tune writes it"),
        ("{}", "s.json: version is missing"),
        ('{"version": 1, "version": 1}', "s.json: duplicate key 'version' in one object"),
        (
            "[" * 100_000,
            "s.json: cannot be understood: RecursionError: maximum recursion depth exceeded while "
            "decoding a JSON array from a unicode string",
        ),
    ],
)
def test_damaged_files(text: str, reason: str) -> None:
    with refused(reason):
        read(text)


FIELDS = "version, model, arch, block_threads, blocks_per_sm, origin, schedules, of_feature"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda fields: fields.pop("arch"), "arch is missing"),
        (lambda fields: fields.update(colour=1), f"colour: no such field; there are {FIELDS}"),
        (lambda fields: fields.update(version=2), "version = 2: must be 1"),
        (lambda fields: fields.update(version="1"), "version: must be a whole number"),
        (lambda fields: fields.update(block_threads=True), "block_threads: must be a whole number"),
        (lambda fields: fields.update(origin=None), "origin: must be a text"),
        (lambda fields: fields.update(schedules={}), "schedules: must be a list"),
        (
            lambda fields: fields.update(blocks_per_sm=17),
            "blocks_per_sm = 17: must be from 1 to 16",
        ),
        (lambda fields: fields.update(blocks_per_sm=0), "blocks_per_sm = 0: must be from 1 to 16"),
        (
            lambda fields: fields["schedules"].append(fields["schedules"][1]),
            "schedules[2]: duplicates schedules[1]",
        ),
        (lambda fields: fields.update(of_feature=[0, 0, 0]), "schedules[1]: no feature uses it"),
        (
            lambda fields: fields["of_feature"].pop(),
            "of_feature: is for a model of 2 features, but ads has 3",
        ),
        (
            lambda fields: fields.update(of_feature=[0, 1, 2]),
            "of_feature[2] = 2: must be a whole number from 0 to 1",
        ),
        (
            lambda fields: fields.update(of_feature=[0, 1, -1]),
            "of_feature[2] = -1: must be a whole number from 0 to 1",
        ),
        (
            lambda fields: fields.update(of_feature=[0, 1, False]),
            "of_feature[2] = False: must be a whole number from 0 to 1",
        ),
    ],
)
def test_fields(change: Callable[[dict[str, Any]], Any], reason: str) -> None:
    with refused(f"s.json: {reason}"):
        read(changed(change))


def names() -> str:
    return ", ".join(templates())


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (7, "must be an object"),
        ({"template": "one_hot"}, "must have the fields template and parameters"),
        ({"template": "one_hot", "parameters": 4}, "parameters: must be an object"),
        (
            {"template": "one_hot", "parameters": {"vector": 4}},
            "parameters of one_hot: samples_per_thread is missing",
        ),
        (
            {"template": "one_hot", "parameters": {"vector": 4, "speed": 1}},
            "parameters of one_hot: speed: no such parameter; there are vector, samples_per_thread",
        ),
        (
            {"template": "one_hot", "parameters": {"vector": 3, "samples_per_thread": 1}},
            "parameters of one_hot: vector = 3: must be one of 1, 2, 4, 8",
        ),
        (
            {"template": "one_hot", "parameters": {"vector": True, "samples_per_thread": 1}},
            "parameters of one_hot: vector = True: must be one of 1, 2, 4, 8",
        ),
    ],
)
def test_schedules(entry: Any, reason: str) -> None:
    with refused(f"s.json: schedules[1]: {reason}"):
        read(changed(lambda fields: fields["schedules"].__setitem__(1, entry)))


@pytest.mark.parametrize("name", ["warp_per_cent", None, 3])
def test_an_unknown_template(name: Any) -> None:
    entry = {"template": name, "parameters": {}}
    with refused(f"s.json: schedules[1]: template = {name!r}: must be one of {names()}"):
        read(changed(lambda fields: fields["schedules"].__setitem__(1, entry)))


def test_a_file_has_one_kind_of_workers() -> None:
    entry = {"template": "pooled_bags", "parameters": {"vector": 4, "rows": 1}}
    with refused(
        "s.json: schedules[1]: template = 'pooled_bags': must be one whose workers are blocks, as "
        "those of one_hot"
    ):
        read(changed(lambda fields: fields["schedules"].__setitem__(1, entry)))


def test_schedules_for_another_model() -> None:
    other = EmbeddingModel("news", (*MODEL.features[:2], Feature("f2", 11, 4)))
    mine, its = MODEL.digest[:40], other.digest[:40]
    with refused(f"s.json: model = {mine}…: does not match news, which is {its}…"):
        read(schedule_file.to_text(SCHEDULES), other)


def test_schedules_for_another_configuration() -> None:
    text = schedule_file.to_text(SCHEDULES)
    with refused("s.json: arch = 'sm_80': must be 'sm_90', as in the configuration"):
        read(text, config=CudaConfig(arch="sm_90"))
    with refused("s.json: block_threads = 128: must be 256, as in the configuration"):
        read(text, config=CudaConfig(arch="sm_80", block_threads=256))


def test_a_schedule_that_cannot_compute_its_feature() -> None:
    entry = {"template": "one_hot", "parameters": {"vector": 8, "samples_per_thread": 1}}
    with refused(
        "s.json: of_feature[1]: one_hot(vector=8, samples_per_thread=1) cannot compute feature f1: "
        "vector = 8: must be at most 16 bytes"
    ):
        read(changed(lambda fields: fields["schedules"].__setitem__(1, entry)))
