"""Views of tensors: dimensions in another order, left out, or repeated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnarl.sw.workloads.einsum.pytorch.views import Additive, View

CUBE = View.whole("t", (2, 1, 4))
MASK = replace(CUBE, meaning=Additive(), is_truth=True, is_dense=True)


def test_whole_tensors() -> None:
    assert CUBE == View("t", (2, 1, 4), (0, 1, 2))
    assert (CUBE.rank, View.whole("t", ()).rank) == (3, 0)
    assert (CUBE.meaning, CUBE.is_truth, CUBE.is_dense) == (None, False, False)


@pytest.mark.parametrize(
    ("view", "shape", "modes"),
    [
        (MASK.permuted([2, 0, 1]), (4, 2, 1), (2, 0, 1)),
        (MASK.permuted([2, 0]), (4, 2), (2, 0)),
        (MASK.unsqueezed(0), (1, 2, 1, 4), (None, 0, 1, 2)),
        (MASK.unsqueezed(2), (2, 1, 1, 4), (0, 1, None, 2)),
        (MASK.unsqueezed(3), (2, 1, 4, 1), (0, 1, 2, None)),
        (MASK.squeezed([0, 1, 2]), (2, 4), (0, 2)),
        (MASK.squeezed([1]), (2, 4), (0, 2)),
        (MASK.squeezed([0, 2]), (2, 1, 4), (0, 1, 2)),
        (MASK.expanded((2, 3, 4)), (2, 3, 4), (0, None, 2)),
        (MASK.expanded((5, 2, 3, -1)), (5, 2, 3, 4), (None, 0, None, 2)),
        (MASK.expanded((-1, -1, 4)), (2, 1, 4), (0, 1, 2)),
        (MASK.expanded((-1, 0, 4)), (2, 0, 4), (0, None, 2)),
        (MASK.spread([0, 3, 2], 5), (2, 1, 4, 1, 1), (0, None, 2, 1, None)),
    ],
)
def test_other_views(view: View, shape: tuple[int, ...], modes: tuple[int | None, ...]) -> None:
    """What elements are stays."""
    assert view == replace(MASK, shape=shape, modes=modes)


def test_elements_as_numbers() -> None:
    assert MASK.bare() == CUBE
