"""Names of FST files, views of them, and the files that hold those."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.sw.runtime.machine.waves.trace_names import Variable, read_variables
from gnarl.sw.runtime.machine.waves.view import Unit, view
from gnarl.sw.runtime.machine.waves.wave_files import WaveFiles, whole_wave_files
from tests.support.errors import refused
from tests.support.machines.wave_views import gtkwave_groups, surfer_groups

HIERARCHY = (
    b"\xfe\0TOP\0\0\x10\x01clk\0\x01\0"
    b"\xfc\x02\x06a note\0\x85\x01\xfe\0m\0\0\x10\x01clk\0\x01\x01"
    b"\x10\0pc [299:0]\0\xac\x02\x81\x01\xff\xfd\xff"
)


def block(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + (len(content) + 8).to_bytes(8) + content


def literals(content: bytes) -> bytes:
    """An LZ4 block of one sequence of literals."""
    if len(content) < 15:
        return bytes([len(content) << 4]) + content
    more = len(content) - 15
    return b"\xf0" + b"\xff" * (more // 255) + bytes([more % 255]) + content


def long(hierarchy: bytes) -> bytes:
    """With so many signals more that their lengths take octets of their own."""
    return hierarchy + b"".join(b"\x10\0x%d\0\x01\0" % number for number in range(60))


@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize("is_twice", [False, True])
def test_names_are_read_from_either_form(tmp_path: Path, is_long: bool, is_twice: bool) -> None:
    path = tmp_path / "x.fst"
    hierarchy = long(HIERARCHY) if is_long else HIERARCHY
    content = literals(hierarchy)
    head = len(hierarchy).to_bytes(8)
    if is_twice:
        names = block(7, head + len(content).to_bytes(8) + literals(content))
    else:
        names = block(6, head + content)
    path.write_bytes(block(0, bytes(321)) + block(8, bytes(1000)) + names)
    assert read_variables(path)[:3] == [
        Variable(("TOP",), "clk", ""),
        Variable(("TOP", "m"), "clk", ""),
        Variable(("TOP", "m"), "pc", "[299:0]"),
    ]
    assert len(read_variables(path)) == (63 if is_long else 3)


@pytest.mark.parametrize("blocks", [(), (0,), (0, 8)])
def test_files_without_names_are_refused(tmp_path: Path, blocks: tuple[int, ...]) -> None:
    path = tmp_path / "x.fst"
    path.write_bytes(b"".join(block(kind, bytes(300)) for kind in blocks))
    with refused(f"{path}: waves without names of signals"):
        read_variables(path)


@pytest.mark.parametrize("at", [1, 5, 9, 200, 309, 318, -1])
def test_waves_that_are_cut_off_are_refused(tmp_path: Path, at: int) -> None:
    path = tmp_path / "x.fst"
    path.write_bytes((block(0, bytes(300)) + block(6, bytes(8) + literals(HIERARCHY)))[:at])
    if at == 309:  # between blocks
        with refused(f"{path}: waves without names of signals"):
            read_variables(path)
    else:
        with pytest.raises(OSError, match="waves are cut off"):
            read_variables(path)


@pytest.mark.parametrize("ending", [".fst", ".saif"])
def test_an_error_names_the_file_that_was_wanted(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x{ending}"
    with pytest.raises(OSError, match="cut off") as caught, whole_wave_files(path) as files:
        files.trace.write_bytes(b"\0" * 20)
        files.write_views([])
    assert caught.value.filename == str(path)
    assert not list(tmp_path.iterdir())


def variables(scope: str, *names: str) -> list[Variable]:
    return [Variable(tuple(scope.split(".")), name, "") for name in names]


def test_a_view_shows_what_there_is() -> None:
    trace = [
        *variables("TOP", "clk", "rst"),
        *variables("TOP.m", "clk", "busy"),
        *variables("TOP.m.core", "cycles", "cycles$3", "start"),
        *variables("TOP.m.core.unit$7", "pc", "pc.low", "words[0]", "i__valid", "i__payload"),
        *variables("TOP.m.core.unit$7.part", "pc"),
        *variables("TOP.m.core.b_1", "o__valid", "o__ready", "o__payload", "valid", "ready"),
        *variables("TOP.m.core.b_0", "o__ready", "o__valid"),
    ]
    units = (
        Unit("unit", bits=("run",), numbers=("pc",), words=("words",), streams=("*",)),
        Unit("none", numbers=("pc",)),
        Unit("b_*", streams=("o",)),
        Unit("unit.part", words=("pc",)),
    )
    assert [
        (group.name, [(shown.variable.name, shown.radix) for shown in group.shown])
        for group in view(trace, units)
    ] == [
        ("clock", [("clk", "bin")]),
        ("run", [("start", "bin"), ("cycles", "dec")]),
        ("unit", [("pc", "dec")]),
        ("b_1", [("o__valid", "bin"), ("o__ready", "bin"), ("o__payload", "hex")]),
        ("b_0", [("o__valid", "bin"), ("o__ready", "bin")]),
        ("unit_part", [("pc", "hex")]),
    ]


def fst(path: Path) -> None:
    path.write_bytes(block(6, bytes(8) + literals(HIERARCHY)))


def test_views_are_written_whole(tmp_path: Path) -> None:
    with whole_wave_files(tmp_path / "x.fst") as files:
        fst(files.trace)
        files.write_views([])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.fst", "x.gtkw", "x.sucl"]
    assert gtkwave_groups(tmp_path / "x.gtkw") == {"clock": ["TOP.m.clk"]}
    assert surfer_groups(tmp_path / "x.sucl") == {"clock": ["TOP.m.clk"]}


def test_views_of_a_run_that_fails_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "x.gtkw").write_text("older")
    with pytest.raises(RuntimeError), whole_wave_files(tmp_path / "x.fst") as files:
        fst(files.trace)
        files.write_views([])
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["x.gtkw"]
    assert (tmp_path / "x.gtkw").read_text() == "older"


def test_a_view_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    view_path = tmp_path / "x.sucl"
    view_path.mkdir()
    with pytest.raises(OSError, match="not a regular file") as caught:
        with whole_wave_files(tmp_path / "x.fst"):
            raise AssertionError
    assert caught.value.filename == str(view_path)
    assert list(tmp_path.iterdir()) == [view_path]


@pytest.mark.parametrize("ending", [".gtkw", ".sucl"])
def test_waves_are_not_their_own_view(ending: str) -> None:
    path = Path(f"x{ending}")
    with refused(
        f"{path}: what viewers show of waves is written to {ending} files: waves must have another "
        "ending, such as .fst"
    ):
        WaveFiles.beside(path)


def test_counts_of_changes_have_no_views(tmp_path: Path) -> None:
    with whole_wave_files(tmp_path / "x.saif") as files:
        files.trace.write_text("(SAIFILE)\n")
        files.write_views([])
    assert [path.name for path in tmp_path.iterdir()] == ["x.saif"]
