"""Programs of commands by hand, from files to results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnarl import Device
from gnarl.hw.lib.errors import CapacityError, ProgramError, WorkloadError
from gnarl.sw.runtime.sram_compute.figures import traffic

EXAMPLE = Path(__file__).parents[4] / "examples" / "vec_add.sram"

_LAYOUT = "layout element={} base={} sizes={} line_strides={} tile={} tile_strides={}"


def written(folder: Path, *lines: str) -> Path:
    path = folder / "program.sram"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_example_adds_vectors():
    with Device("sram_b2", "model") as device:
        program = device.compile(EXAMPLE)
        a = np.arange(256, dtype=np.int32) * 1_000_003
        b = -(np.arange(256, dtype=np.int32) ** 2)
        result = device.run(program, {"a": a, "b": b})
        assert (result.outputs["c"] == a + b).all()
        assert device.verify(result).bit_exact
        moved = traffic(result.counters)
    assert moved == {
        "within_tiles": 0,
        "between_tiles": 0,
        "between_banks": 0,
        "other_data": 3 * 1024,
        "control": 256,
    }
    spent = sum(count for name, count in result.counters.items() if name.startswith("cycles_"))
    assert spent == result.cycles


def test_listings_are_what_they_were_compiled_from(tmp_path):
    with Device("sram_b2", "model") as device:
        program = device.compile(EXAMPLE)
        listing = list(device.target.presenter.listing(program))
        again = device.compile(written(tmp_path, *listing))
    assert (
        again.launches[0].sections["commands"] == program.launches[0].sections["commands"]
    ).all()


@pytest.mark.parametrize("type", ["int8", "uint16", "float32"])
def test_rows_of_arrays_begin_with_lines(tmp_path, type):
    """An array whose rows are not whole lines comes back as it was."""
    dtype = np.dtype(type)
    element = dtype.itemsize.bit_length() - 1
    lines = -(-20 * dtype.itemsize // 64)
    layouts = (
        _LAYOUT.format(element, base, f"{lines},4,1", f"{lines},0", "4,2,0", "0,0")
        for base in (64, 96)
    )
    transfers = (f"{kind} row=0 n={8 * dtype.itemsize}" for kind in ("load", "store"))
    steps = [line for pair in zip(layouts, transfers, strict=True) for line in pair]
    path = written(
        tmp_path, f"input a {type} 4,20 line=64", f"output c {type} 4,20 line=96", *steps, "end"
    )
    array = np.random.default_rng(1).integers(0, 100, (4, 20)).astype(dtype)
    with Device("sram_b2", "model") as device:
        result = device.run(device.compile(path), {"a": array})
    assert (result.outputs["c"] == array).all()
    assert result.outputs["c"].dtype == dtype


def test_programs_that_stop_say_why(tmp_path):
    path = written(tmp_path, "sync", "load row=0 n=8")
    with Device("sram_b2", "model") as device:
        program = device.compile(path)
        with pytest.raises(ProgramError, match="stops with LAYOUT at unit 1$"):
            device.run(program, {})


def test_what_no_operation_begins_at_has_no_meaning(tmp_path):
    with Device("sram_b2", "model") as device:
        rom = device.configuration.config.rom
        begins = {entry for places in rom.entries.values() for entry in places.values()}
        entry = min({*range(len(rom.words))} - begins)
        program = device.compile(
            written(tmp_path, f"compute entry={entry} n=8 bases=0,32,64,0,0", "end")
        )
        with pytest.raises(ProgramError, match=f"unit 0: entry = {entry}: no operation begins"):
            device.run(program, {})


@pytest.mark.parametrize(
    "lines, kind, text",
    [
        (["# none", "load row"], WorkloadError, ":2: row: must be a field and its value, as n=8"),
        (
            ["input a int64 4 line=8"],
            WorkloadError,
            ":1: input: must be a name, one of int8, uint8, int16, uint16, int32, uint32, float16, "
            "bfloat16, float32, its sizes and line=, as a float32 64,16 line=64",
        ),
        (
            ["end", "core first=0"],
            WorkloadError,
            ":2: core: not supported in a file of commands, which has no instructions",
        ),
        (
            ["input a int8 4 line=0", "end"],
            CapacityError,
            ": arrays begin in line 0: must begin behind the 1 units of commands, from line 1 on",
        ),
        (
            ["input a int8 2,4 line=1023", "end"],
            CapacityError,
            ": memory_bytes = 65536: must be at least 131072",
        ),
    ],
)
def test_bad_files_are_refused(tmp_path, lines, kind, text):
    path = written(tmp_path, *lines)
    with Device("sram_b2", "model") as device, pytest.raises(kind) as caught:
        device.compile(path)
    assert str(caught.value) == f"{path}{text}"
