"""Programs for another configuration than the one they are to run on."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gnarl.hw.lib.errors import ProgramError
from gnarl.sw.program.program import Program
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.dpu.example_program import CONFIG, program, scalars


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
