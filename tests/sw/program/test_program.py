from __future__ import annotations

import dataclasses
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hw.dpu.config import DpuConfig
from hw.dpu.isa import PeOp
from hw.lib.errors import ProgramError
from sw.compiler.dpu.sections import STATISTICS, dag_of, dag_sections
from sw.program.program import Program
from sw.workloads.dag.dag import Dag, Op

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


def program(**sections: np.ndarray) -> Program:
    return Program(
        target="dpu",
        config=CONFIG.to_dict(),
        digest=CONFIG.digest,
        format="float32",
        workload="example",
        input_names=["a", "b"],
        output_names=["sum", "a"],
        statistics=dict.fromkeys(STATISTICS, 1),
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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "example.npz"
    program().save(path)
    return path


def refuses(path: Path, text: str) -> None:
    with pytest.raises(ProgramError, match=f"^{re.escape(f'{path}: {text}')}$"):
        Program.load(path)


def rewrite(path: Path, change: dict[str, bytes | None]) -> None:
    """Writes the archive anew with members replaced, added or (``None``) left out."""
    with zipfile.ZipFile(path) as archive:
        members: dict[str, bytes | None] = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**members, **change}.items():
            if content is not None:
                archive.writestr(name, content)


def rewrite_manifest(path: Path, **change: Any) -> None:
    manifest = json.loads(zipfile.ZipFile(path).read("manifest.json"))
    manifest |= change
    kept = {name: value for name, value in manifest.items() if value is not None}
    rewrite(path, {"manifest.json": json.dumps(kept).encode()})


def test_a_saved_program_loads_as_it_was(file: Path):
    loaded = Program.load(file, CONFIG)
    expected = dataclasses.asdict(program())
    found = dataclasses.asdict(loaded)
    sections = found.pop("sections")
    expected_sections = expected.pop("sections")
    assert found == expected
    assert set(sections) == set(expected_sections)
    for name, array in expected_sections.items():
        assert sections[name].dtype == array.dtype
        assert sections[name].tolist() == array.tolist()


def test_the_source_dag_comes_back(file: Path):
    dag = dag_of(Program.load(file).sections)
    for field in dataclasses.fields(Dag):
        assert np.array_equal(getattr(dag, field.name), getattr(DAG, field.name))


def test_equal_programs_are_equal_bytes(tmp_path: Path):
    program().save(tmp_path / "one.npz")
    program().save(tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_numpy_reads_the_file_without_pickles(file: Path):
    with np.load(file, allow_pickle=False) as archive:
        assert archive["tree_left"].tolist() == [1, 0]


def test_a_program_that_cannot_be_saved_leaves_the_old_file_and_no_other(file: Path):
    before = file.read_bytes()
    with pytest.raises(ProgramError):
        program(tree_op=np.array([0, 0], np.uint8)).save(file)
    unwritable = dataclasses.replace(
        program(), statistics={**dict.fromkeys(STATISTICS, 1), "blocks": 1.5}
    )
    with pytest.raises(
        ProgramError,
        match=r"^statistics\.blocks in manifest\.json is 1\.5: must be a whole number$",
    ):
        unwritable.save(file)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_a_missing_file_is_an_os_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        Program.load(tmp_path / "none.npz")


def test_a_program_for_another_configuration_names_what_differs(file: Path):
    other = DpuConfig(depth=2, banks=16, registers=8, data_rows=16)
    text = (
        f"{file}: program for another configuration: depth is 1, must be 2; banks is 8, must be 16"
    )
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        Program.load(file, other)


def test_a_configuration_with_more_fields_is_another():
    newer = dataclasses.replace(program(), config={**CONFIG.to_dict(), "lanes": 2})
    text = "program for another configuration: lanes is 2, must be missing"
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        newer.require(CONFIG)


def test_of_another_target_only_that_is_told():
    other = dataclasses.replace(program(), config={"lanes": 2}, target="sam")
    text = "program for another configuration: target is sam, must be dpu"
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        other.require(CONFIG)


def test_a_number_format_that_is_not_the_configurations_is_refused():
    forged = dataclasses.replace(program(), format="float16")
    text = "format in manifest.json is float16: must be float32, as in config"
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        forged.check()


def test_a_digest_that_disagrees_with_the_fields_is_refused():
    forged = dataclasses.replace(program(), digest="0" * 64)
    text = f"program for another configuration: digest is {'0' * 64}, must be {CONFIG.digest}"
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        forged.require(CONFIG)


def test_a_truncated_file_is_refused(file: Path):
    file.write_bytes(file.read_bytes()[:-100])
    refuses(file, "not a program file, or damaged: File is not a zip file")


def test_an_empty_file_is_refused(file: Path):
    file.write_bytes(b"")
    refuses(file, "not a program file, or damaged: File is not a zip file")


def test_a_changed_byte_is_noticed(file: Path):
    content = bytearray(file.read_bytes())
    content[content.index(b"tree_left.npy") + 13 + 128] ^= 1
    file.write_bytes(content)
    refuses(file, "not a program file, or damaged: Bad CRC-32 for file 'tree_left.npy'")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_any_damage_is_a_program_error_or_harmless(file: Path, data: st.DataObject):
    program().save(file)
    content = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1), "place")
    content[place] ^= 1 << data.draw(st.integers(0, 7), "bit")
    damaged = file.with_name("damaged.npz")
    damaged.write_bytes(content)
    try:
        loaded = Program.load(damaged)
    except ProgramError:
        return
    assert loaded.config == program().config
    for name, array in program().sections.items():
        assert loaded.sections[name].tolist() == array.tolist()


def test_another_archive_is_refused(tmp_path: Path):
    path = tmp_path / "other.npz"
    np.savez(path, x=np.zeros(3))
    refuses(path, "manifest.json is missing: not a program file")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"version": 2}, "version 2 of program files: this Gnarl reads version 1"),
        ({"version": None}, "manifest.json has no version"),
        ({"digest": None}, "manifest.json has no digest"),
        ({"colour": "red"}, "manifest.json has an unknown field 'colour'"),
        ({"workload": 3}, "workload in manifest.json is 3: must be of type str"),
        ({"input_names": ["a", 1]}, "input_names[1] in manifest.json is 1: must be a name"),
        ({"input_names": ["a"]}, "word_value[2] = 2: must be from 0 to 1"),
        (
            {"input_names": ["a", "b", "c"]},
            "dag_op has 2 inputs: must be 3, as input_names",
        ),
        (
            {"output_names": ["sum"]},
            "section 'output_row' is int32 [2]: must be int32 [1]",
        ),
        (
            {"statistics": {"blocks": "1"}},
            "statistics.blocks in manifest.json is '1': must be a whole number",
        ),
        ({"target": "gpu"}, "target 'gpu': there are dpu, sam, cuda"),
        (
            {"config": {"banks": 8}},
            "data_rows of the configuration is None: must be a whole number",
        ),
    ],
)
def test_bad_fields_of_the_manifest_are_refused(file: Path, change: dict[str, Any], text: str):
    rewrite_manifest(file, **change)
    refuses(file, text)


def test_a_manifest_that_is_no_json_is_refused(file: Path):
    rewrite(file, {"manifest.json": b"{"})
    refuses(
        file,
        "manifest.json is damaged: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1)",
    )


def test_a_missing_section_is_refused(file: Path):
    rewrite(file, {"tree_op.npy": None})
    refuses(file, "section 'tree_op' is missing")


def test_an_unknown_section_is_refused(file: Path):
    with zipfile.ZipFile(file) as archive:
        content = archive.read("tree_op.npy")
    rewrite(file, {"tree_up.npy": content})
    refuses(file, "unknown section 'tree_up'")


def test_a_section_that_is_no_array_is_refused(file: Path):
    rewrite(file, {"tree_op.npy": b"text"})
    refuses(
        file,
        "section 'tree_op' is damaged: EOF: reading magic string, expected 8 bytes got 4",
    )


def test_pickles_are_refused(file: Path, tmp_path: Path):
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    rewrite(file, {"tree_op.npy": (tmp_path / "objects.npy").read_bytes()})
    refuses(
        file,
        "section 'tree_op' is damaged: Object arrays cannot be loaded when allow_pickle=False",
    )


@pytest.mark.parametrize(
    ("name", "values", "dtype", "text"),
    [
        ("tree_op", [2, 2], np.int64, "section 'tree_op' is int64 [2]: must be uint8 [2]"),
        ("tree_left", [[0]], np.int32, "section 'tree_left' is int32 [1, 1]: must be int32 [2]"),
        ("word_row", [0, 0, 16], np.int32, "word_row[2] = 16: must be from 0 to 15"),
        ("word_bank", [0, 8, 0], np.int32, "word_bank[1] = 8: must be from 0 to 7"),
        ("word_value", [-1, 0, 0], np.int32, "word_value[0] = -1: must be from 0 to 2"),
        ("output_row", [-2, 0], np.int32, "output_row[0] = -2: must be from -1 to 15"),
        ("output_bank", [8, 0], np.int32, "output_bank[0] = 8: must be below banks = 8"),
        (
            "output_bank",
            [0, 3],
            np.int32,
            "output_bank[1] = 3: must be an input or a constant",
        ),
        ("output_bank", [0, -1], np.int32, "output_bank[1] = -1: must be at least 0"),
        ("output_value", [0, 5], np.int32, "output_value[1] = 5: must be from 0 to 4"),
        ("tree_op", [4, 1], np.uint8, "tree_op[1] = 1: must be from 2 to 6"),
        ("tree_right", [2, 4], np.int32, "tree_right[1] = 4: must be an earlier value"),
        ("dag_op", [0, 0, 1, 3, 6], np.uint8, "dag_op[4] = 6: must be from 0 to 5"),
        (
            "dag_offsets",
            [0, 0, 0, 0, 2],
            np.int64,
            "section 'dag_offsets' is int64 [5]: must be int64 [6]",
        ),
        ("dag_offsets", [0, 0, 0, 3, 2, 4], np.int64, "dag_offsets[4] = 2: must be ascending"),
        (
            "dag_offsets",
            [0, 0, 0, 0, 2, 3],
            np.int64,
            "dag_offsets goes from 0 to 3: must go from 0 to 4",
        ),
        ("dag_operands", [1, 3, 0, 3], np.int32, "dag_operands[1] = 3: must be an earlier node"),
    ],
)
def test_bad_sections_are_refused(name: str, values: list[int], dtype: type[np.generic], text: str):
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        program(**{name: np.array(values, dtype)}).check()
