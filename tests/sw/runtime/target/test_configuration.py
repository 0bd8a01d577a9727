"""Configurations by name and path, overrides, and the text of each refusal."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.lib.errors import ConfigError
from gnarl.sw.runtime.target.configuration import (
    configuration_files,
    load_configuration,
)
from tests.support.targets.installed import OUTSIDE, importable, install

FIELDS = ", ".join(field.name for field in fields(DpuConfig))


def refusal(name: str | Path, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_configuration(name, overrides)
    return str(caught.value)


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", configuration_files())
def test_shipped_configurations_load_and_have_a_note(name: str) -> None:
    found = load_configuration(name)
    assert found.name == name
    assert found.note
    assert found.target.name == found.config.target == name.split("_")[0]


def test_the_reference_is_the_papers_large_design() -> None:
    assert load_configuration("dpu_d3_b64").config == DpuConfig(depth=3, banks=64, registers=32)


def test_a_file_of_ones_own_takes_defaults_for_what_it_leaves_out(tmp_path: Path) -> None:
    found = load_configuration(write(tmp_path, '# Mine,\n# all of it.\n\ntarget = "dpu"\n'))
    assert (found.name, found.note, found.config) == ("mine", "Mine, all of it.", DpuConfig())


def test_overrides_are_toml_values_or_strings() -> None:
    overrides = ["registers=64", "format=float16", 'output_interconnect="single"', "overlap=false"]
    found = load_configuration("dpu_d1_b8", overrides)
    assert found.overrides == {
        "registers": 64,
        "format": "float16",
        "output_interconnect": "single",
        "overlap": False,
    }
    assert found.config.to_dict() == load_configuration("dpu_d1_b8").config.to_dict() | (
        found.overrides
    )


def test_the_resolved_configuration_names_every_field() -> None:
    found = load_configuration("dpu_d1_b8", ["registers=8"])
    assert found.to_dict() == {
        "config": "dpu_d1_b8",
        "target": "dpu",
        "digest": found.config.digest,
        "fields": found.config.to_dict(),
    }


def test_an_unknown_name_lists_the_known_ones() -> None:
    known = ", ".join(configuration_files())
    assert refusal("dpu_d9") == (
        f"dpu_d9: no such configuration; there are {known}, and paths of .toml files"
    )


def test_a_name_cannot_climb_out_of_the_folder() -> None:
    assert refusal("../configs/dpu_d1_b8").startswith(
        "../configs/dpu_d1_b8: no such configuration; there are "
    )


def test_an_absent_file_is_named() -> None:
    assert refusal("nowhere/mine.toml") == "nowhere/mine.toml: no such file"


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe")
    assert refusal(path) == f"{path}: cannot be read: it is not UTF-8 text"


def test_a_syntax_error_names_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, 'target = "dpu"\nbanks = \ndepth = 3\n')
    assert refusal(path) == f"{path}:2: not TOML: Invalid value at column 9"


def test_a_syntax_error_at_the_end_names_the_last_line(tmp_path: Path) -> None:
    path = write(tmp_path, 'target = "dpu"\nbanks =')
    assert refusal(path) == f"{path}:2: not TOML: Invalid value"


def test_the_error_of_a_file_without_target_says_what_to_write(tmp_path: Path) -> None:
    path = write(tmp_path, "banks = 8\n")
    text = 'no target: must have a line target = one of "dpu", "sam", "tmu", "sram", "cuda"'
    assert refusal(path) == f"{path}: {text}"


def test_an_unknown_target_names_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, 'banks = 8\ntarget = "cpu"\n')
    assert (
        refusal(path)
        == f'{path}:2: target = \'cpu\': must be one of "dpu", "sam", "tmu", "sram", "cuda"'
    )


def test_every_bad_field_is_reported_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, 'target = "dpu"\nbanks = 200\n\ndepth = "3"\n')
    assert refusal(path) == (
        f"{path}:4: depth = '3': must be a whole number from 1 to 4; "
        f"{path}:2: banks = 200: must be a whole number from 8 to 64"
    )


def test_an_unknown_field_names_its_line_and_the_known_ones(tmp_path: Path) -> None:
    path = write(tmp_path, 'target = "dpu"\nbank = 8\n')
    assert refusal(path) == f"{path}:2: bank = 8: no such field; there are {FIELDS}"


def test_a_table_is_an_unknown_field_of_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, 'target = "dpu"\n[dpu]\nbanks = 8\n')
    assert refusal(path) == f"{path}:2: dpu = {{'banks': 8}}: no such field; there are {FIELDS}"


def test_a_bad_override_is_named_as_one() -> None:
    assert refusal("dpu_d3_b64", "banks=20") == (
        "--set: banks = 20: must be a multiple of 2**depth = 8"
    )
    assert refusal("dpu_d3_b64", "bank=8") == (
        f"--set: bank = 8: no such field; there are {FIELDS}"
    )
    assert refusal("dpu_d3_b64", "banks") == "--set banks: must be field=value"
    assert refusal("dpu_d3_b64", "=8") == "--set =8: must be field=value"
    assert refusal("dpu_d3_b64", "target=sam") == (
        f"--set: target = 'sam': no such field; there are {FIELDS}"
    )


def test_a_field_that_an_override_makes_wrong_is_found_in_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'target = "dpu"\nbanks = 8\n')
    assert refusal(path, "depth=4") == (f"{path}:2: banks = 8: must be a multiple of 2**depth = 16")


def test_a_value_does_not_hide_its_field(tmp_path: Path) -> None:
    path = write(tmp_path, 'target = "dpu"\n\nformat = "a = b: c"\n')
    assert refusal(path).startswith(f"{path}:3: format = 'a = b: c': must be one of ")


def test_a_field_may_be_called_as_an_error_begins(tmp_path: Path) -> None:
    path = write(tmp_path, 'target = "dpu"\n\n"banks = 8: no" = 1\n')
    assert refusal(path).startswith(f"{path}:3: banks = 8: no = 1: no such field; ")


def test_configurations_of_other_packages_have_names(tmp_path: Path) -> None:
    before = list(configuration_files())
    install(tmp_path, "outside", OUTSIDE)
    with importable(tmp_path):
        assert list(configuration_files()) == sorted([*before, "adder", "ulp", "ulp_fast"])
        found = load_configuration("ulp_fast")
        assert (found.target.name, found.note) == ("ulp", "As ulp, with another clock.")
        assert found.config.to_dict() == {"stage": 1, "clock_mhz": 200}
        path = write(tmp_path, 'target = "ulp"\nclock_mhz = 0\n')
        assert refusal(path) == f"{path}:2: clock_mhz = 0: must be a whole number from 1 to 500"
    assert list(configuration_files()) == before


def test_a_configuration_of_the_project_keeps_its_name(tmp_path: Path) -> None:
    own = configuration_files()["dpu_d1_b8"]
    (tmp_path / "dpu_d1_b8.toml").write_text('target = "adder"\n')
    (tmp_path / "mine.py").write_text(
        "from dataclasses import replace\n"
        "from pathlib import Path\n"
        "from tests.support.targets import adder_target\n"
        "TARGET = replace(adder_target.TARGET, configurations=Path(__file__).parent)\n"
    )
    install(tmp_path, "mine", {"adder": "mine:TARGET"})
    with importable(tmp_path):
        assert configuration_files()["dpu_d1_b8"] == own


def test_an_unknown_target_is_compared_with_those_of_other_packages(tmp_path: Path) -> None:
    path = write(tmp_path, 'target = "cpu"\n')
    install(tmp_path, "outside", OUTSIDE)
    known = '"dpu", "sam", "tmu", "sram", "cuda", "adder", "ulp"'
    with importable(tmp_path):
        assert refusal(path) == f"{path}:1: target = 'cpu': must be one of {known}"
