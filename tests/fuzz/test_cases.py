"""Cases are what their seed and number say, and damaged as their format wants."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import assemble, command
from tests.fuzz.cases import DAMAGES, LARGEST, make_case
from tests.fuzz.damage_archive import (
    BOMB_BYTES,
    METHODS,
    bomb,
    change_member,
    members_of,
    packed,
    recompress,
)
from tests.fuzz.damage_json import change_tree
from tests.fuzz.damage_options import OPTIONS
from tests.fuzz.damage_rows import ROWS, change_field
from tests.fuzz.damage_torch import change_inputs
from tests.fuzz.formats import DUMPS, FORMATS
from tests.fuzz.valid_files import write_valid_files
from tests.support.commands import state
from tests.support.program_files import array_bytes, array_of

CONTENTS = {
    "text": b"psdd 2\nL 0 0 1\nT 1 1 2 -0.5\n",
    "json": b'{"a": 0.25,\n "b": [1, {"c": null}]}',
    "lines": b'{"job": "one", "times": [1.5]}\n{"job": "two", "times": [2.5]}\n',
    "python": b"x = [1, 2]\nmodel = x[0]\n",
}


def archive() -> bytes:
    octets = io.BytesIO()
    np.savez(octets, **{"one": np.arange(3), "two": np.zeros((2, 2))})
    return octets.getvalue()


def program() -> bytes:
    """Rows of all kinds."""
    sections = {name: np.ones((3, layout.size // 32), np.uint32) for name, layout in ROWS.items()}
    units = assemble([command(Opcode.FILL, n=8), command(Opcode.SYNC), command(Opcode.END)])
    octets = io.BytesIO()
    np.savez(octets, **{name.removesuffix(".npy"): rows for name, rows in sections.items()})
    whole = members_of(octets.getvalue())
    return packed([*whole, ("commands.npy", array_bytes(units))])


def exported() -> bytes:
    """What of a file of ``torch.export.save`` has tensors."""
    weight = {"path_name": "weight_0", "tensor_meta": {"dtype": 7, "sizes": [], "strides": []}}
    config = json.dumps({"config": {"weight": weight}}).encode()
    members = {"sample_inputs/model.pt": b"", "weights/model_weights_config.json": config}
    return packed((f"bag/data/{name}", content) for name, content in members.items())


def npy() -> bytes:
    octets = io.BytesIO()
    np.save(octets, np.arange(6).reshape(2, 3))
    return octets.getvalue()


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("valid")
    write_valid_files(folder)
    for name in ("dpu", "sam", "fabric", "cuda", "tmu", "coupled", "sram", "commands"):
        (folder / f"{name}.npz").write_bytes(archive())
    (folder / "dump").mkdir()
    for name in ("graph.gv", "schedules.json", "out.json.journal", *DUMPS):
        (folder / name).write_bytes(CONTENTS["json"])
    return folder


def test_equal_seeds_and_numbers_are_equal_cases(valid: Path, tmp_path: Path) -> None:
    differ = 0
    for number in range(len(FORMATS)):
        folders = tmp_path / f"one{number}", tmp_path / f"other{number}", tmp_path / f"new{number}"
        one, other, new = (
            make_case(seed, number, valid, folder)
            for seed, folder in zip((1, 1, 2), folders, strict=True)
        )
        assert one == other
        assert state(folders[0]) == state(folders[1])
        differ += (one.command, state(folders[0])) != (new.command, state(folders[2]))
    assert differ > 2 / 3 * len(FORMATS)


@pytest.mark.parametrize("kind", DAMAGES)
def test_every_damage_works_on_everything(kind: str) -> None:
    """Also on what is damaged already, and on nothing."""
    made = {"npy": npy, "rows": program, "module": exported}.get(kind, archive)
    content = CONTENTS.get(kind) or made()
    random = Random(3)
    for damage in dict.fromkeys(DAMAGES[kind]):
        changed = 0
        for _ in range(20):
            damaged = damage(content, random)
            changed += damaged != content
            damage(damaged[:LARGEST], random)
        damage(b"", random)
        assert changed, damage.__name__


def test_members_are_changed_behind_right_checksums() -> None:
    for seed in range(20):
        octets = recompress(change_member(archive(), Random(seed)), Random(seed))
        with zipfile.ZipFile(io.BytesIO(octets)) as opened:
            assert opened.testzip() is None
            assert opened.namelist() == ["one.npy", "two.npy"]
            assert opened.infolist()[0].compress_type in METHODS


def differences(octets: bytes) -> dict[str, np.ndarray]:
    """For each member of a program, the bits that differ from ``program``."""
    before = {name: array_of(content) for name, content in members_of(program())}
    after = {name: array_of(content) for name, content in members_of(octets)}
    assert before.keys() == after.keys()
    return {
        name: rows ^ after[name] for name, rows in before.items() if (rows != after[name]).any()
    }


def test_fields_of_all_sections_are_changed_one_at_a_time() -> None:
    changed: set[str] = set()
    alone = 0
    for seed in range(300):
        found = differences(change_field(program(), Random(seed)))
        assert len(found) <= 1
        for name, bits in found.items():
            changed.add(name)
            alone += np.count_nonzero(bits.any(axis=1)) == 1
    assert changed == {*ROWS, "commands.npy"}
    assert alone > 150


@pytest.mark.parametrize("change", OPTIONS)
def test_lines_have_options_of_all_verbs(change: Callable[..., list[str]]) -> None:
    commands = [list(each) for format in FORMATS for each in format.commands]
    lines = [change(random.choice(commands), random) for random in map(Random, range(400))]
    verbs = {line[0] for line in lines}
    assert verbs >= {"run", "compile", "compare", "opt", "disasm"}
    assert all("--backend=rtl" not in line[1:] or line[0] == "run" for line in lines)
    assert sum(word.startswith("--max-cycles") for line in lines for word in line) > 3


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_pickles_of_tensors_are_those_of_pytorch() -> None:
    """All but what is damaged on purpose; here nothing else is in the way of the tensors."""
    torch = pytest.importorskip("torch")
    read = 0
    for seed in range(60):
        members = dict(members_of(change_inputs(exported(), Random(seed))))
        file = io.BytesIO(members["bag/data/sample_inputs/model.pt"])
        try:
            values, named = torch.load(file, weights_only=True)
        except RuntimeError:  # beyond the storage, or of no such size
            continue
        read += any(isinstance(value, torch.Tensor) for value in values)
        assert named == {}
    assert read > 15


def test_a_bomb_expands_to_gigabytes() -> None:
    octets = next(
        octets
        for octets in (bomb(archive(), Random(seed)) for seed in range(20))
        if BOMB_BYTES - 2 in [each.file_size for each in _infolist(octets)]
    )
    assert len(octets) < 1 << 23
    with zipfile.ZipFile(io.BytesIO(octets)) as opened:
        member = max(opened.infolist(), key=lambda each: each.file_size)
        assert opened.open(member).read(1 << 20) == bytes(1 << 20)


def _infolist(octets: bytes) -> list[zipfile.ZipInfo]:
    with zipfile.ZipFile(io.BytesIO(octets)) as opened:
        return opened.infolist()


def test_a_tree_that_is_too_deep_stays_as_it_is() -> None:
    text = "[" * 100_000 + "]" * 100_000
    assert change_tree(text, Random(1)) == text
