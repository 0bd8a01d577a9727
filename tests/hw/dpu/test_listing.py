from __future__ import annotations

import numpy as np

from gnarl.hw.dpu.assembly import BANK_MASKS, assemble
from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.isa import FIRST_WRITER, WRITE_COPY, Opcode, PeOp
from gnarl.hw.dpu.listing import listing

CONFIG = DpuConfig(depth=2, banks=8, registers=8, data_rows=16)


def test_one_line_for_each_instruction_says_what_it_does():
    found = np.array([0, Opcode.LOAD, Opcode.EXEC_STORE, Opcode.COPY, Opcode.STORE, 1], np.uint8)
    columns = {name: np.zeros((6, 8), bool) for name in BANK_MASKS}
    columns |= {name: np.zeros((6, 8), int) for name in ("read_address", "source", "write_source")}
    columns |= {"operation": np.zeros((6, CONFIG.pes), int), "row": np.arange(6)}
    columns["load_enable"][1, [0, 1, 2, 5]] = True
    columns["read_enable"][2, [0, 1, 2, 6]] = True
    columns["valid_reset"][2, [0, 4]] = True
    columns["read_address"][2] = np.arange(8)
    columns["source"][2] = [0, 1, 1, 2, 1, 0, 7, 2]
    columns["operation"][2] = [PeOp.MUL, PeOp.ADD, PeOp.SUB, PeOp.PASS_RIGHT, PeOp.MIN, PeOp.MAX]
    columns["write_source"][2, :6] = [FIRST_WRITER + 1, FIRST_WRITER, 0, 0, FIRST_WRITER + 1, 0]
    columns["write_source"][2, 6] = WRITE_COPY
    columns["store_enable"][2, [0, 6]] = True
    columns["read_enable"][3, [3, 4]] = True
    columns["valid_reset"][3, 3] = True
    columns["source"][3, 7] = 3
    columns["write_enable"][3, 7] = True
    columns["read_enable"][4, [1, 2]] = True
    columns["valid_reset"][4, [1, 2]] = True
    assert list(listing(CONFIG, assemble(CONFIG, found, columns))) == [
        "      0  0x000000  NOP",
        "      1  0x000001  LOAD        row 1 to banks 0-2 5",
        "      2  0x000003  EXEC_STORE  b0 = (b0[0]! * b1[1]) - (b1[1] + b2[2]); "
        "b1 = b0[0]! * b1[1]; b4 = max(b0[0]!, min(b7[unread], b2[2])); b6 = b7[unread]; "
        "row 2 from b0[0]! b6[6]; frees b4[4]!",
        "      3  0x000012  COPY        b7 = b3[0]!; reads b4[0]",
        "      4  0x00001c  STORE       row 4 from b1[0]! b2[0]!",
        "      5  0x000022  HALT",
    ]
