from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.dpu.assembly import BANK_MASKS, assemble, disassemble, split
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import Opcode, instruction, instruction_bytes, opcodes, write_source_bits

SMALL = DpuConfig(depth=1, banks=8, registers=8, data_rows=16)

CONFIGS = [
    SMALL,
    DpuConfig(),
    DpuConfig(depth=2, banks=12, registers=33, data_rows=5, overlap=False),
    DpuConfig(depth=4, banks=16, registers=256, output_interconnect="crossbar"),
    DpuConfig(depth=3, banks=24, output_interconnect="single"),
]


def random_columns(
    config: DpuConfig, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    banks = config.banks
    columns = {name: rng.random((count, banks)) < 0.5 for name in BANK_MASKS}
    columns["read_address"] = rng.integers(0, config.registers, (count, banks), np.uint8)
    columns["source"] = rng.integers(0, banks, (count, banks), np.uint8)
    columns["operation"] = rng.integers(0, 8, (count, config.pes), np.uint8)
    sources = 1 << write_source_bits(config)
    columns["write_source"] = rng.integers(0, sources, (count, banks), np.uint8)
    columns["row"] = rng.integers(0, config.data_rows, count, np.int32)
    return rng.choice(np.array(opcodes(config), np.uint8), count), columns


def test_a_load_checked_by_hand():
    # 4 bits opcode 4, 4 bits row 9, 8 bits mask of banks 0, 1 and 7.
    stream = assemble(
        SMALL,
        np.array([Opcode.LOAD], np.uint8),
        {"row": np.array([9]), "load_enable": np.array([[1, 1, 0, 0, 0, 0, 0, 1]], bool)},
    )
    assert stream.tolist() == [0x94, 0x83]


def test_instructions_stand_without_gaps():
    count = 4
    _, columns = random_columns(SMALL, count, np.random.default_rng(0))
    found = np.array([Opcode.NOP, Opcode.EXEC, Opcode.LOAD, Opcode.HALT], np.uint8)
    stream = assemble(SMALL, found, columns)
    lengths = [instruction_bytes(SMALL, Opcode(opcode)) for opcode in found]
    assert split(SMALL, stream)[1].tolist() == [0, *np.cumsum(lengths[:-1])]
    assert len(stream) == sum(lengths)


def test_no_instructions_are_no_bytes():
    stream = assemble(SMALL, np.zeros(0, np.uint8), {})
    assert stream.tolist() == []
    assert disassemble(SMALL, stream)[0].tolist() == []


@settings(deadline=None)
@given(st.sampled_from(CONFIGS), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_round_trip_of_random_programs(config: DpuConfig, count: int, seed: int):
    expected, columns = random_columns(config, count, np.random.default_rng(seed))
    found, unpacked, addresses = disassemble(config, assemble(config, expected, columns))
    assert found.tolist() == expected.tolist()
    assert (np.diff(addresses) > 0).all()
    formats = {opcode: instruction(config, opcode).members for opcode in opcodes(config)}
    for name, column in unpacked.items():
        present = np.array([name in formats[Opcode(opcode)] for opcode in found], bool)
        assert (column[present] == columns[name][present]).all()
        assert not column[~present].any()
    some = ["row", "operation"]
    _, chosen, _ = disassemble(config, assemble(config, expected, columns), some)
    assert chosen.keys() == unpacked.keys() & set(some)
    assert all((column == unpacked[name]).all() for name, column in chosen.items())


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"d{config.depth}b{config.banks}")
def test_each_field_one_past_its_range_is_refused(config: DpuConfig):
    for opcode in opcodes(config):
        for name, field in instruction(config, opcode):
            if name in ("opcode", "padding"):
                continue
            _, columns = random_columns(config, 3, np.random.default_rng(1))
            found = np.array([Opcode.NOP, opcode, opcode], np.uint8)
            if name in BANK_MASKS:
                columns[name] = columns[name][:, :-1]
                kind = f"column {name!r} is bool [3, {config.banks - 1}]"
                text = f"{kind}: must be whole numbers [n, {config.banks}]"
            else:
                array = columns[name].ndim == 2
                width = field.shape.elem_shape.width if array else field.width
                column = columns[name].astype(np.int64)
                column.reshape(3, -1)[2, -1] = 1 << width
                columns[name] = column
                place = f"2, {column.shape[1] - 1}" if array else "2"
                limit = (1 << width) - 1
                text = f"{name}[{place}] = {1 << width}: must be from 0 to {limit}"
            with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
                assemble(config, found, columns)


def test_a_missing_column_is_refused():
    with pytest.raises(ValueError, match="^no column for field 'row'$"):
        assemble(SMALL, np.array([Opcode.LOAD], np.uint8), {"load_enable": np.zeros((1, 8), bool)})


KNOWN = "0 (NOP), 1 (HALT), 2 (EXEC), 3 (COPY), 4 (LOAD), 5 (STORE)"


def test_an_opcode_that_the_configuration_lacks_is_refused():
    config = DpuConfig(overlap=False)
    with pytest.raises(
        ValueError, match=f"^{re.escape(f'opcode[1] = 6: must be one of {KNOWN}')}$"
    ):
        assemble(config, np.array([Opcode.NOP, Opcode.EXEC_LOAD], np.uint8), {})
    text = f"instruction 2 at byte 2 has opcode 7: must be one of {KNOWN}"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        split(config, np.array([0, 0, 7], np.uint8))


def test_a_stream_that_ends_inside_an_instruction_is_refused():
    with pytest.raises(
        ValueError, match="^instruction 1 at byte 1 has 2 bytes: the stream ends after 2$"
    ):
        split(SMALL, np.array([0, Opcode.LOAD], np.uint8))
