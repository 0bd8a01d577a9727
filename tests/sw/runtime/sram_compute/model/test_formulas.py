"""Truth tables as NumPy code."""

from __future__ import annotations

import numpy as np

from gnarl.sw.runtime.sram_compute.model.formulas import formula, start_formula


def test_formulas_are_their_tables() -> None:
    bits = [np.array([case >> bit & 1 for case in range(16)], bool) for bit in range(4)]
    a, b, c, p = (np.where(each, np.uint64((1 << 64) - 1), np.uint64(0)) for each in bits)
    for truth in [*range(0, 1 << 16, 37), 0, 0xFFFF, 0xAAAA, 0xCCCC, 0xF0F0, 0xFF00]:
        found = np.broadcast_to(formula(truth)(a, b, c, p), 16)
        assert [int(each) & 1 for each in found] == [truth >> case & 1 for case in range(16)]
    for truth in range(16):
        found = np.broadcast_to(start_formula(truth)(a[:4], b[:4]), 4)
        assert [int(each) & 1 for each in found] == [truth >> case & 1 for case in range(4)]
