from __future__ import annotations

import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import ErrorCause, Opcode, PeOp, instruction, opcodes
from manual.dpu import CAUSE_TEXTS, OPCODE_TEXTS, OPERATION_TEXTS, PATH, manual


def test_the_manual_in_docs_is_up_to_date():
    assert PATH.read_text() == manual(DpuConfig()), "run `python -m manual.dpu`"


def test_every_opcode_operation_and_cause_is_explained():
    assert list(OPCODE_TEXTS) == list(Opcode)
    assert list(OPERATION_TEXTS) == list(PeOp)
    assert list(CAUSE_TEXTS) == list(ErrorCause)


@pytest.mark.parametrize("interconnect", ["crossbar", "layered", "single"])
def test_every_field_is_drawn_and_explained(interconnect: str):
    config = DpuConfig(depth=2, banks=12, output_interconnect=interconnect, overlap=False)
    text = manual(config)
    for opcode in opcodes(config):
        for name, field in instruction(config, opcode):
            assert f" {name} " in text
            assert str(field.offset + field.width - 1) in text
            if name not in ("opcode", "padding"):
                assert f"| `{name}`" in text or f", `{name}`" in text


def test_a_format_is_drawn_with_its_bits():
    config = DpuConfig(depth=1, banks=8, registers=8, data_rows=16)
    drawing = """\
  15        8   7 4   3    0
+-------------+-----+--------+
| load_enable | row | opcode |
+-------------+-----+--------+
"""
    assert drawing in manual(config)
