"""Programs saved and loaded."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.lib.errors import ProgramError
from gnarl.sw.compiler.dpu.sections import STATISTICS, dag_of
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.workloads.dag.dag import Dag
from tests.support.dpu.example_program import DAG, equal, program


def test_a_saved_program_loads_as_it_was(file: Path):
    assert equal(load_program(file), program())


def test_the_source_dag_comes_back(file: Path):
    dag = dag_of(load_program(file).launches[0].sections)
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
        load_program(tmp_path / "none.npz")
