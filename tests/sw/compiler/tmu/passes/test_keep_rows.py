"""Rows that all edges of a vertex read: when they stay in registers."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.tmu.passes.keep_rows import keep_rows
from tests.support.tmu.messages import Messages

CONFIG = TmuConfig(lanes=4)


def made(messages: Messages, *, fits: bool = True) -> tuple[ModuleOp, ModuleOp]:
    """What it was, and is."""
    module = messages.after("forward_stores", CONFIG)
    return module, keep_rows(module, CONFIG.lanes, lambda made: fits)


def loads(module: ModuleOp) -> int:
    return str(module).count("vector.load %a[")


@pytest.mark.parametrize(
    "messages",
    [
        Messages(row="near[v]"),  # vertices without edges need not have one
        Messages(rows=2),  # fewer than vertices: the last one may have no edges
        Messages(row="indices[p]"),
        Messages(dim=68),  # 17 vectors of it, and as many of the result
        Messages(product="b[indices[p], e]"),
    ],
)
def test_a_row_is_queued(messages: Messages):
    module, same = made(messages)
    assert same is module


def test_a_row_is_queued_where_the_hardware_has_no_room():
    module, same = made(Messages(), fits=False)
    assert same is module


def test_a_row_is_loaded_once_a_vertex():
    _, kept = made(Messages(dim=48))
    assert loads(kept) == 12


def test_vectors_beyond_registers_are_loaded_again():
    """16 and 16 of the result leave none to sums: 8 are."""
    _, kept = made(Messages(dim=64))
    assert loads(kept) == 16 + 8


def test_an_index_that_nobody_counts_is_queued():
    _, kept = made(Messages(again=()))
    assert '"slc.push"(%v) <{aligned}>' in str(kept)
    _, counted = made(Messages())
    assert '"slc.push"(%v) <{aligned}>' not in str(counted)
