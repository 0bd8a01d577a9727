"""How the queues of streams divide a lane's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnarl.hw.lib.errors import CapacityError
from gnarl.sw.compiler.tmu.access.queues import slots_of_layers

LAYERS = st.lists(
    st.tuples(st.integers(0, 8), st.none() | st.integers(0, 300)), min_size=1, max_size=8
)


@given(LAYERS, st.sampled_from([16, 64, 512]))
def test_all_queues_have_room_and_fit(layers: list[tuple[int, int | None]], words: int) -> None:
    queued, trips = zip(*layers, strict=True)
    needed = 2 * sum(queued[:-1])
    if needed > words:
        with pytest.raises(
            CapacityError, match=f"stream_words = {words}: must be at least {needed}"
        ):
            slots_of_layers(words, queued, trips)
        return
    slots = slots_of_layers(words, queued, trips)
    assert min(slots) >= 1
    assert sum(count * each for count, each in zip(queued, slots, strict=True)) <= words


def test_layers_further_in_hold_more() -> None:
    """As many as they have iterations, and not so many that rows fill memory's channel."""
    assert slots_of_layers(512, [2, 2, 1], [64, None, 4]) == [42, 84, 260]
    assert slots_of_layers(512, [2, 2, 1], [64, 1, 4]) == [64, 64, 256]
    assert slots_of_layers(512, [1, 1, 1], [64, None, 4]) == [85, 85, 342]
