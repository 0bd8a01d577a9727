"""Streams that engines cannot have are refused."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.sw.compiler.sram_compute.near.lower import NearCode, near_code
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.loops.ir.binding import bind
from tests.support.sram_compute.tensor_graphs import nest_of


def gathered(columns: int) -> NearCode:
    """A column's element of the row that an index names."""
    nest = nest_of(
        "a: int32[n, m], index: int32[k], to: int32[k]",
        "for i in range(k): to[i] = a[index[i], 3]",
    )
    values = {"a": np.zeros((1, columns), np.int32), "index": np.zeros(5, np.int32)}
    config = load_configuration("sram_b4").config
    return near_code(nest, bind(nest, values), config, reassociate=False, zeros=frozenset())


def test_words_to_the_next_index_have_16_bits():
    (stream,) = (
        each.fields
        for each in gathered(2**16 - 16).computing
        if each.opcode == Opcode.STREAM and each.fields["is_indirect"]
    )
    assert stream["scale"] == 2**16 - 16
    refused = r"^f.py:2:\d+: a: 65536 words to the next index: must be at most 65535$"
    with pytest.raises(WorkloadError, match=refused):
        gathered(2**16)
