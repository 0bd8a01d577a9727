"""Rows that callbacks read behind the loop that queues them: when they are queued again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.dialects.slc import ForOp
from gnarl.sw.compiler.nests.values import constant_of
from gnarl.sw.compiler.tmu.passes.repeat_fibers import repeat_fibers
from tests.support.tmu.messages import Messages

CONFIG = TmuConfig(lanes=4)
AGAIN = "scale * b[indices[p], e]"


def rounds(messages: Messages, config: TmuConfig = CONFIG, *, fits: bool = True) -> int:
    """How often the fiber is queued, by the bounds of the loop around."""
    module = messages.after("partial_sums", CONFIG)
    found = repeat_fibers(module, config, lambda made: fits)
    if found is module:
        return 1
    assert "vector.load %b" not in str(found)
    *_, around, _ = (each for each in found.walk() if isinstance(each, ForOp))
    count = constant_of(around.upper)
    assert count is not None
    return count


def test_it_is_queued_for_each_loop():
    assert rounds(Messages()) == 2
    assert rounds(Messages(again=(AGAIN, AGAIN))) == 3


@pytest.mark.parametrize(
    "messages",
    [
        Messages(again=()),
        Messages(again=("scale * b[near[v], e]",)),
        Messages(row="near[v]"),  # another row is queued between its vectors
        Messages(dim=100),
    ],
)
def test_it_is_queued_once(messages: Messages):
    assert rounds(messages) == 1


def test_it_is_queued_once_where_there_is_no_room():
    """A callback takes two words' rows, and twice two vectors: 24 words."""
    assert rounds(Messages(), fits=False) == 1
    assert rounds(Messages(), replace(CONFIG, data_words=32)) == 2
    assert rounds(Messages(), replace(CONFIG, data_words=16)) == 1
