"""``gnarl opt``: any level is read, goes through passes, and is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import gnarl, refusal

PASSES = (
    "select",
    "hoist",
    "decouple",
    "vectorize",
    "first_iterations",
    "store_streams",
    "bufferize",
    "align_queues",
    "keep_sums",
    "fetch_rows",
    "forward_stores",
    "keep_rows",
    "partial_sums",
    "repeat_fibers",
    "prefetch_rows",
    "count_iterations",
    "stream_places",
    "delay_stores",
    "split_masks",
    "store_lanes",
    "lower",
)


@pytest.fixture
def dumps(tmp_path: Path) -> list[Path]:
    """Dumps of all levels, in order."""
    folder = tmp_path / "dumps"
    arguments = ("compile", "tmu_l2", "embedding_bag:tiny", "-o", tmp_path / "x.npz")
    assert gnarl(*arguments, "--dump", folder).exit_code == 0
    return sorted(folder.iterdir())


def test_a_dump_goes_through_the_next_pass_to_the_next_dump(dumps: list[Path]) -> None:
    for name, before, after in zip(PASSES, dumps[:-1], dumps[1:], strict=True):
        result = gnarl("opt", before, "-p", name, "--config", "tmu_l2", "--zero", "out")
        assert (result.exit_code, result.stdout) == (0, after.read_text())


def test_all_passes_at_once(dumps: list[Path]) -> None:
    options = ("-p", ",".join(PASSES), "--config", "tmu_l2", "--zero", "out")
    assert gnarl("opt", dumps[0], *options).stdout == dumps[-1].read_text()


def test_no_pass_prints_what_was_read(dumps: list[Path]) -> None:
    assert gnarl("opt", dumps[2]).stdout == dumps[2].read_text()


def test_refusals(dumps: list[Path], tmp_path: Path) -> None:
    scf, file = dumps[0], tmp_path / "x.mlir"
    known = ", ".join(PASSES)
    assert refusal(tmp_path, "opt", scf, "-p", "frob") == (
        f"gnarl: pass frob: must be one of {known}"
    )
    assert refusal(tmp_path, "opt", scf, "-p", "lower") == (
        f"gnarl: {scf}: pass lower takes SLC: the module is SCF"
    )
    assert refusal(tmp_path, "opt", scf, "--config", "dpu_d1_b8") == (
        f"gnarl: {scf}: MLIR text is not supported by target dpu"
    )
    file.write_text("builtin.module {\n}\n")
    assert refusal(tmp_path, "opt", file) == (
        f'gnarl: {file}: must have one func.func, whose attribute names = "a,b" has the names of '
        "its arguments"
    )
    file.write_text("builtin.module {\n  frob\n}\n")
    assert refusal(tmp_path, "opt", file) == (
        f"gnarl: {file}:3:1: Operation frob is not registered"
    )
