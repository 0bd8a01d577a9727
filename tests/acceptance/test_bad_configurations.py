"""Bad configurations, in files and through ``--set``."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.sw.runtime.target.configuration import configuration_files
from tests.support.commands import refusal
from tests.support.dpu.dag_files import CONFIG

FIELDS = (
    "depth, banks, registers, format, output_interconnect, pe_stages, technology, "
    "fetch_stages, write_stages, fault_stages, instruction_words, data_rows, overlap"
)

FORMATS = (
    "float32, float16, bfloat16, float8_e5m2, float8_e4m3, fixedW.F (W = 4 to 32 bits, F < W "
    "after the point)"
)

OVERRIDES = {
    "banks": " banks: must be field=value",
    "=3": " =3: must be field=value",
    "banks=": ": banks = '': must be a whole number from 8 to 64",
    "banks=9": ": banks = 9: must be a multiple of 2**depth = 2",
    "banks=many": ": banks = 'many': must be a whole number from 8 to 64",
    "banks=[8]": ": banks = [8]: must be a whole number from 8 to 64",
    "depth=5": ": depth = 5: must be a whole number from 1 to 4",
    "depth=1.5": ": depth = 1.5: must be a whole number from 1 to 4",
    "depth=true": ": depth = True: must be a whole number from 1 to 4",
    "registers=7": ": registers = 7: must be a whole number from 8 to 256",
    "pe_stages=0": ": pe_stages = 0: must be a whole number from 1 to 10",
    "technology=paper": ": technology = 'paper': must be one of fpga, silicon",
    "fetch_stages=2": ": fetch_stages = 2: must be a whole number from 3 to 6",
    "write_stages=2": ": write_stages = 2: must be a whole number from 0 to 1",
    "data_rows=1": ": data_rows = 1: must be a whole number from 4 to 1048576",
    "instruction_words=0": ": instruction_words = 0: must be a whole number from 4 to 1048576",
    "overlap=maybe": ": overlap = 'maybe': must be true or false",
    "output_interconnect=full": (
        ": output_interconnect = 'full': must be one of crossbar, layered, single"
    ),
    "format=float64": f": format = 'float64': must be one of {FORMATS}",
    "format=fixed16.16": f": format = 'fixed16.16': must be one of {FORMATS}",
    "colour=red": f": colour = 'red': no such field; there are {FIELDS}",
    "target=dpu": f": target = 'dpu': no such field; there are {FIELDS}",
}


@pytest.mark.parametrize("override", OVERRIDES)
def test_overrides(tmp_path: Path, graph: Path, override: str) -> None:
    arguments = ("run", CONFIG, graph, "--backend", "model", "--set", override)
    assert refusal(tmp_path, *arguments) == f"gnarl: --set{OVERRIDES[override]}"


def test_a_field_that_is_overridden_twice(tmp_path: Path, graph: Path) -> None:
    overrides = ("--set", "depth=1", "--set", " depth = 2")
    assert refusal(tmp_path, "run", CONFIG, graph, "--backend", "model", *overrides) == (
        "gnarl: --set depth = 2: depth is given twice: must be given once"
    )


HOSTILE_OVERRIDES = ["registers=1" + "0" * 5000, "banks=" + "[" * 10_000]


@pytest.mark.parametrize("override", HOSTILE_OVERRIDES, ids=["long", "deep"])
def test_hostile_overrides(tmp_path: Path, graph: Path, override: str) -> None:
    arguments = ("run", CONFIG, graph, "--backend", "model", "--set", override)
    assert refusal(tmp_path, *arguments).startswith("gnarl: --set")


TOML = {
    "empty": (
        "",
        ': no target: must have a line target = one of "dpu", "sam", "tmu", "sram", "cuda"',
    ),
    "unknown target": (
        'target = "cpu"\n',
        ':1: target = \'cpu\': must be one of "dpu", "sam", "tmu", "sram", "cuda"',
    ),
    "unknown field": (
        'target = "dpu"\ncolour = "red"\n',
        f":2: colour = 'red': no such field; there are {FIELDS}",
    ),
    "bad value": (
        'target = "dpu"\n\nbanks = 9\n',
        ":3: banks = 9: must be a multiple of 2**depth = 8",
    ),
    "field twice": (
        'target = "dpu"\nbanks = 8\nbanks = 8\n',
        ":3: not TOML: Cannot overwrite a value at column 10",
    ),
    "truncated": ('target = "dpu"\nbanks = ', ":2: not TOML: Invalid value"),
    "binary": (bytes(range(256)), ": cannot be read: it is not UTF-8 text"),
    "zero bytes": (b"\0" * 9, ":1: not TOML: Invalid statement at column 1"),
}


@pytest.mark.parametrize("name", TOML)
def test_configuration_files(tmp_path: Path, graph: Path, name: str) -> None:
    content, text = TOML[name]
    path = tmp_path / "mine.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = refusal(tmp_path, "run", path, graph, "--backend", "model")
    assert line == f"gnarl: {path}{text}"


HOSTILE_TOML = ['target = "dpu"\nregisters = 1' + "0" * 5000 + "\n", "a = " + "[" * 5000]


@pytest.mark.parametrize("content", HOSTILE_TOML, ids=["long", "deep"])
def test_hostile_configuration_files(tmp_path: Path, graph: Path, content: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    line = refusal(tmp_path, "run", path, graph, "--backend", "model")
    assert line.startswith(f"gnarl: {path}")


def test_an_unknown_configuration(tmp_path: Path, graph: Path) -> None:
    assert refusal(tmp_path, "run", "dpu_d9_b9", graph) == (
        f"gnarl: dpu_d9_b9: no such configuration; there are {', '.join(configuration_files())}, "
        "and paths of .toml files"
    )
    missing = tmp_path / "missing.toml"
    assert refusal(tmp_path, "run", missing, graph) == f"gnarl: {missing}: no such file"
