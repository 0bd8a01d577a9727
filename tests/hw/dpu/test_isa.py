from __future__ import annotations

import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import (
    FIRST_WRITER,
    ErrorCause,
    Opcode,
    PeOp,
    instruction,
    instruction_bytes,
    instruction_word_bits,
    opcodes,
    write_source_bits,
)
from gnarl.hw.dpu.topology import writers

CONFIGS = [
    DpuConfig(depth=depth, banks=banks, output_interconnect=interconnect, overlap=overlap)
    for depth, banks in ((1, 8), (3, 8), (3, 64), (4, 48))
    for interconnect in ("crossbar", "layered", "single")
    for overlap in (False, True)
]


def places(config: DpuConfig, opcode: Opcode) -> dict[str, tuple[int, int]]:
    return {name: (field.offset, field.width) for name, field in instruction(config, opcode)}


def test_fields_of_the_smallest_formats_checked_by_hand():
    config = DpuConfig(depth=1, banks=8, registers=8, data_rows=16)
    assert places(config, Opcode.NOP) == {"opcode": (0, 4), "padding": (4, 4)}
    assert places(config, Opcode.LOAD) == {"opcode": (0, 4), "row": (4, 4), "load_enable": (8, 8)}
    assert places(config, Opcode.COPY) == {
        "opcode": (0, 4),
        "read_enable": (4, 8),
        "valid_reset": (12, 8),
        "read_address": (20, 24),
        "source": (44, 24),
        "write_enable": (68, 8),
        "padding": (76, 4),
    }


def test_lengths_of_the_default_configuration():
    lengths = {opcode.name: instruction_bytes(DpuConfig(), opcode) for opcode in Opcode}
    assert lengths == {
        "NOP": 1,
        "HALT": 1,
        "EXEC": 150,
        "COPY": 113,
        "LOAD": 10,
        "STORE": 58,
        "EXEC_LOAD": 159,
        "EXEC_STORE": 159,
    }
    assert instruction_word_bits(DpuConfig()) == 1280


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_every_format_is_whole_bytes_without_gaps_and_opcode_first(config: DpuConfig):
    for opcode in opcodes(config):
        end = 0
        for offset, width in places(config, opcode).values():
            assert offset == end
            end += width
        assert end == 8 * instruction_bytes(config, opcode) <= instruction_word_bits(config)
        assert places(config, opcode)["opcode"] == (0, 4)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_a_write_source_can_name_every_writer(config: DpuConfig):
    most = max(len(writers(config, bank)) for bank in range(config.banks))
    assert FIRST_WRITER + most <= 1 << write_source_bits(config)


def test_causes_have_the_numbers_that_the_manual_gives():
    assert {cause.name: cause.value for cause in ErrorCause} == {
        "NONE": 0,
        "ILLEGAL_OPCODE": 1,
        "ADDRESS_OUT_OF_RANGE": 2,
        "READ_OF_EMPTY_REGISTER": 3,
        "WRITE_TO_FULL_BANK": 4,
        "WRITE_CONFLICT": 5,
    }


def test_formats_beside_exec_exist_with_overlap_only():
    both = {Opcode.EXEC_LOAD, Opcode.EXEC_STORE}
    assert set(opcodes(DpuConfig(overlap=True))) == set(Opcode)
    assert set(opcodes(DpuConfig(overlap=False))) == set(Opcode) - both


def test_pe_operations_leave_7_for_illegal():
    assert [operation.value for operation in PeOp] == list(range(7))
    assert PeOp.as_shape().width == 3
