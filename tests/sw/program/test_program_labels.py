"""Labels of a program's inputs: any come back, damaged ones are refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.errors import ProgramError
from gnarl.sw.program.tensor_spec import Labelled, encode_labels, labels_of
from gnarl.sw.runtime.run.programs import load_program
from tests.support.dpu.example_program import program, refuses
from tests.support.program_files import array_bytes, manifest_of, with_member

LABELS = encode_labels(labels_of(["a", "b"]))


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
    fields = manifest_of(file)["tensors"][0]
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
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
def test_any_labels_come_back(tmp_path: Path, names: list[str]):
    path = tmp_path / "labels.npz"
    program(tuple(names)).save(path)
    storage = load_program(path).inputs[0].storage
    assert isinstance(storage, Labelled)
    assert storage.labels.tolist() == names
