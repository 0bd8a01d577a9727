"""The reference of the TMU's programs is that of the code."""

from __future__ import annotations

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.hw.tmu.config import TmuConfig
from manual.tmu import PATH, manual


def test_the_page_is_up_to_date():
    assert PATH.read_text(encoding="utf-8") == manual(TmuConfig()), "run `make docs`"


def test_every_opcode_is_there():
    text = manual(TmuConfig())
    for opcode in Opcode:
        assert f"`{opcode.name}`" in text
