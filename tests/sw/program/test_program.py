from __future__ import annotations

import json
import re
import zipfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hw.dpu.config import DpuConfig
from hw.dpu.isa import PeOp
from hw.lib.errors import ProgramError
from sw.compiler.dpu.sections import DPU_SCHEMA, STATISTICS, dag_of, dag_sections
from sw.program.program import Launch, Program
from sw.program.schema import Schema, Section
from sw.program.tensor_spec import Labelled, Ragged, TensorSpec, encode_labels, labels_of
from sw.runtime.configuration import load_configuration
from sw.runtime.programs import load_program
from sw.workloads.dag.dag import Dag, Op
from tests.support.program_files import array_bytes, with_manifest, with_member

CONFIG = DpuConfig(depth=1, banks=8, registers=8, data_rows=16)

AGAIN = " of program files: this Gnarl reads version 2: compile the workload again"

LABELS = encode_labels(labels_of(["a", "b"]))

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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "example.npz"
    program().save(path)
    return path


def load(path: Path) -> Program:
    return load_program(path)


def manifest(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("manifest.json"))


def rewrite_manifest(path: Path, **change: Any) -> None:
    """Replaces fields; those that are ``None`` go."""
    kept = {name: value for name, value in (manifest(path) | change).items() if value is not None}
    with_member(path, "manifest.json", json.dumps(kept).encode())


def refuses(path: Path, text: str) -> None:
    with pytest.raises(ProgramError, match=f"^{re.escape(f'{path}: {text}')}$"):
        load(path)


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


def test_a_saved_program_loads_as_it_was(file: Path):
    assert equal(load(file), program())


def test_the_source_dag_comes_back(file: Path):
    dag = dag_of(load(file).launches[0].sections)
    for field in fields(Dag):
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
    launch = replace(
        program().launches[0], statistics={**dict.fromkeys(STATISTICS, 1), "spills": 1.5}
    )
    text = "launches[0].statistics.spills in manifest.json is 1.5: must be a whole number"
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        replace(program(), launches=(launch,)).save(file)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_a_missing_file_is_an_os_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.npz")


def requires(found: Program, text: str) -> None:
    """What the configuration CONFIG says of a program that is for another."""
    names = ["depth=1", "banks=8", "registers=8", "data_rows=16"]
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        load_configuration("dpu_d1_b8", names).require(found)


def test_a_program_for_another_configuration_names_what_differs(file: Path):
    other = load_configuration("dpu_d2_b16", ["registers=8", "data_rows=16"])
    text = (
        f"{file}: program for another configuration: depth is 1, must be 2; banks is 8, must be 16"
    )
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        load_program(file, other)


def test_a_configuration_with_more_fields_is_another():
    newer = replace(program(), config={**CONFIG.to_dict(), "lanes": 2})
    requires(newer, "program for another configuration: lanes is 2, must be missing")


def test_of_another_target_only_the_target_is_named():
    other = replace(program(), config={"lanes": 2}, target="sam")
    requires(other, "program for another configuration: target is sam, must be dpu")


def test_a_number_format_that_is_not_the_configurations_is_refused():
    launch = replace(
        program().launches[0], inputs=(replace(scalars("inputs", "a", "b"), type="float16"),)
    )
    forged = replace(program(), inputs=launch.inputs, launches=(launch,))
    text = "tensor inputs is float16: must be float32, as format in config"
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        forged.check()


def test_a_digest_that_disagrees_with_the_fields_is_refused():
    requires(
        replace(program(), digest="0" * 64),
        f"program for another configuration: digest is {'0' * 64}, must be {CONFIG.digest}",
    )


def test_a_launchs_digest_that_disagrees_with_its_fields_is_refused():
    launch = replace(program().launches[0], digest="0" * 64)
    requires(
        replace(program(), launches=(launch,)),
        f"program for another configuration: digest is {'0' * 64}, must be {CONFIG.digest}",
    )


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
        loaded = load(damaged)
    except ProgramError:
        return
    assert equal(loaded, program())


def test_another_archive_is_refused(tmp_path: Path):
    path = tmp_path / "other.npz"
    np.savez(path, x=np.zeros(3))
    refuses(path, "manifest.json is missing: not a program file")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"version": 1}, f"version 1{AGAIN}"),
        ({"version": 3}, f"version 3{AGAIN}"),
        ({"version": None}, f"version None{AGAIN}"),
        ({"digest": None}, "manifest.json has no digest"),
        ({"colour": "red"}, "manifest.json has an unknown field 'colour'"),
        ({"workload": 3}, "workload in manifest.json is 3: must be of type str"),
        ({"inputs": ["inputs", 1]}, "inputs[1] in manifest.json is 1: must be a tensor"),
        ({"inputs": ["x"]}, "inputs[0] in manifest.json is 'x': must be a tensor"),
        ({"inputs": []}, "input inputs: no earlier launch writes it"),
        ({"launches": []}, "unknown section 'instructions'"),
        ({"launches": [3]}, "launches[0] in manifest.json is 3: must be an object"),
        ({"target": "gpu"}, "target 'gpu': must be one of dpu, sam, cuda"),
        (
            {"config": {"banks": 8}},
            "tensor inputs is float32: must be None, as format in config",
        ),
        (
            {"config": {"format": "float32"}},
            "data_rows of the configuration is None: must be a whole number",
        ),
    ],
)
def test_bad_fields_of_the_manifest_are_refused(file: Path, change: dict[str, Any], text: str):
    rewrite_manifest(file, **change)
    refuses(file, text)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"name": 3}, "launches[0].name in manifest.json is 3: must be of type str"),
        ({"colour": 1}, "manifest.json has an unknown field 'launches[0].colour'"),
        ({"config": {}}, "launches[0].digest in manifest.json is None: must be of type str"),
        ({"digest": "0"}, "launches[0].config in manifest.json is None: must be of type dict"),
        (
            {"statistics": {"blocks": "1"}},
            "launches[0].statistics.blocks in manifest.json is '1': must be a whole number",
        ),
        ({"statistics": {}}, "statistics.operations is missing"),
        ({"inputs": ["x"]}, "launches[0].inputs[0] in manifest.json is 'x': must be a tensor"),
        ({"inputs": []}, "tensors: must be one of labelled inputs, one of outputs"),
        ({"outputs": []}, "tensors: must be one of labelled inputs, one of outputs"),
    ],
)
def test_bad_fields_of_a_launch_are_refused(file: Path, change: dict[str, Any], text: str):
    (launch,) = manifest(file)["launches"]
    with_manifest(file, launches=[{**launch, **change}])
    refuses(file, text)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"shape": [3]}, "{fields}: not a tensor specification"),
        ({"shape": 2}, "{fields}: not a tensor specification"),
        ({"type": "int7"}, "{fields}: not a tensor specification"),
        ({"name": None}, "{fields}: not a tensor specification"),
        ({"storage": {"kind": "round"}}, "{fields}: not a tensor specification"),
        (
            {"name": "outputs", "storage": {"kind": "dense"}},
            "tensor outputs: given twice in manifest.json",
        ),
    ],
)
def test_bad_tensors_are_refused(file: Path, change: dict[str, Any], text: str):
    tensors = manifest(file)["tensors"]
    tensors[0] |= change
    with_manifest(file, tensors=tensors)
    refuses(file, text.format(fields=f"tensor {tensors[0]!r:.120}"))


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (np.zeros(3, np.int8), "is int8 [3]: must be uint8 [n]"),
        (np.zeros((1, 2), np.uint8), "is uint8 [1, 2]: must be uint8 [n]"),
        (LABELS[:-1], "must end in a byte 0xff"),
        (np.array([0xC3, 0xFF], np.uint8), "must be UTF-8"),
    ],
)
def test_damaged_labels_are_refused(file: Path, labels: np.ndarray, text: str):
    with_member(file, "labels/inputs.npy", array_bytes(labels))
    refuses(file, f"section 'labels/inputs' {text}")


def test_missing_and_surplus_labels_are_refused(file: Path):
    fields = manifest(file)["tensors"][0]
    with_member(file, "labels/inputs.npy", None)
    refuses(file, f"tensor {fields!r:.120}: not a tensor specification")
    with_member(file, "labels/inputs.npy", array_bytes(LABELS))
    with_member(file, "labels/x.npy", array_bytes(LABELS))
    refuses(file, "unknown section 'labels/x'")


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (("a",), "word_value[2] = 2: must be from 0 to 1"),
        (("a", "b", "c"), "dag_op has 2 inputs: must be 3, as the labels"),
    ],
)
def test_labels_that_do_not_fit_the_sections_are_refused(labels: tuple[str, ...], text: str):
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        program(labels).check()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2, max_size=2))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_labels_come_back(tmp_path: Path, names: list[str]):
    path = tmp_path / "labels.npz"
    program(tuple(names)).save(path)
    storage = load(path).inputs[0].storage
    assert isinstance(storage, Labelled)
    assert storage.labels.tolist() == names


def test_a_manifest_that_is_no_json_is_refused(file: Path):
    with_member(file, "manifest.json", b"{")
    refuses(
        file,
        "manifest.json is damaged: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1)",
    )


def test_a_missing_section_is_refused(file: Path):
    with_member(file, "tree_op.npy", None)
    refuses(file, "section 'tree_op' is missing")


def test_an_unknown_section_is_refused(file: Path):
    with zipfile.ZipFile(file) as archive:
        content = archive.read("tree_op.npy")
    with_member(file, "tree_up.npy", content)
    refuses(file, "unknown section 'tree_up'")


def test_a_section_that_is_no_array_is_refused(file: Path):
    with_member(file, "tree_op.npy", b"text")
    refuses(
        file,
        "section 'tree_op' is damaged: EOF: reading magic string, expected 8 bytes got 4",
    )


def test_pickles_are_refused(file: Path, tmp_path: Path):
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    with_member(file, "tree_op.npy", (tmp_path / "objects.npy").read_bytes())
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


SCALE = Schema([Section("factors", np.float64, ("factors",))])

X = TensorSpec("x", ("n",), "float32")
Y = TensorSpec("y", ("n",), "float32")
Z = TensorSpec("z", ("n",), "float32")


def launch(name: str, reads: TensorSpec, writes: TensorSpec, **change: Any) -> Launch:
    own = Launch(
        name,
        (reads,),
        (writes,),
        {"n": 1},
        {"factors": np.ones(2)},
        CONFIG.to_dict(),
        CONFIG.digest,
    )
    return replace(own, **change)


def chain(*launches: Launch, outputs: tuple[TensorSpec, ...] = (Z,)) -> Program:
    config, digest = CONFIG.to_dict(), CONFIG.digest
    return Program("dpu", config, digest, "chain", (X,), outputs, launches, SCALE)


def test_launches_come_back_with_their_own_hardware(tmp_path: Path):
    other = DpuConfig(depth=2, banks=16)
    second = launch("two", Y, Z, config=other.to_dict(), digest=other.digest)
    saved = chain(launch("one", X, Y), second)
    saved.save(tmp_path / "chain.npz")
    assert equal(Program.load(tmp_path / "chain.npz", lambda target: SCALE), saved)
    assert saved.statistics == {"n": 2}
    with np.load(tmp_path / "chain.npz") as archive:
        assert set(archive) - {"manifest.json"} == {"launch0/factors", "launch1/factors"}


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (chain(), "launches: must be at least one"),
        (
            chain(launch("one", Y, Z), launch("two", X, Y)),
            "launch 0 (one): input y: no earlier launch writes it",
        ),
        (chain(launch("one", X, Y)), "output z: no launch writes it"),
        (
            chain(launch("one", X, Y), launch("one", Y, Z)),
            "launch 1 (one): name: an earlier launch has it",
        ),
        (
            chain(launch("one", X, Y), launch("two", replace(Y, type="int64"), Z)),
            "launch 1 (two): tensor y: specified twice, and differently",
        ),
        (
            chain(launch("one", X, Z), outputs=(replace(Z, shape=(3,)),)),
            "tensor z: specified twice, and differently",
        ),
        (
            chain(launch("one", X, Y), launch("two", Y, Z, sections={})),
            "launch 1 (two): section 'factors' is missing",
        ),
        (
            chain(launch("one", X, replace(Z, storage=Ragged("begins"))), outputs=()),
            "tensor z: no offsets begins",
        ),
    ],
)
def test_launches_that_do_not_fit_are_refused(wrong: Program, text: str):
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        wrong.check()


def test_hardware_of_a_launch_whose_digest_is_wrong_is_named():
    wrong = chain(launch("one", X, Y), launch("two", Y, Z, digest="0" * 64))
    assert wrong.differences(CONFIG) == [f"digest is {'0' * 64}, must be {CONFIG.digest}"]
