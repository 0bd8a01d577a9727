"""What the lanes of a run had to do, and what reports say of it."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.sam.lane_loads import LaneLoads

PRODUCT = "X(i,j)=B(i,k)*C(k,j) -f=X:ds -f=B:ds -f=C:ds -s=reorder(i,k,j)"
DENSE = np.ones((4, 4))
SKEWED = np.array([[1.0, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]])


def report(text: str, left: np.ndarray) -> tuple[float | None, list[str]]:
    """The imbalance of lanes and the remarks of a run."""
    with Device("sam_fp32", "model") as device:
        program = device.compile(text)
        figures = device.target.presenter.figures(
            program, device.run(program, {"B": left, "C": DENSE})
        )
        (launch,) = figures.launches.values()
        return launch.get("lane_imbalance"), list(figures.remarks)


def test_lanes_of_one_size_are_even() -> None:
    imbalance, remarks = report(f"{PRODUCT} -s=parallelize(i,2)", DENSE)
    assert imbalance == 1.0
    name = PRODUCT.partition(" ")[0]
    assert remarks == [
        f"{name}: lanes over i: the fullest of 2 has 1.00 times the tokens of the mean"
    ]


def test_the_fullest_lane_is_that_of_long_rows() -> None:
    """Lane 0 has the row of 16 products and one of 4, lane 1 two of 4; each of k's fibers has a
    stop, and there is done."""
    matrix = np.eye(4)
    matrix[1] = 1
    imbalance, _ = report(f"{PRODUCT} -s=parallelize(i,2)", matrix)
    assert imbalance == pytest.approx((5 * 5 + 1) * 2 / ((5 * 5 + 1) + (2 * 5 + 1)))


def test_what_ends_lanes_is_named() -> None:
    """Three lanes have no sums over their loop."""
    _, remarks = report(f"{PRODUCT} -s=parallelize(k,3)", DENSE)
    assert remarks == [
        f"{PRODUCT.partition(' ')[0]}: lanes over k: the fullest of 3 has 1.12 times the tokens of "
        "the mean; merge_lookup_C_j_out_crd.o, outside of them, has 81, more than the 31 of a "
        "lane: they end before it"
    ]


def test_lanes_that_sum_their_loop() -> None:
    """Lane 0 has two, one, two and one rows of C, lane 1 two, none, two and none, of four entries
    and a stop each; a row of nothing has a stop, too."""
    imbalance, remarks = report(f"{PRODUCT} -s=parallelize(k,2)", SKEWED)
    assert imbalance == pytest.approx((6 * 5 + 1) * 2 / ((6 * 5 + 1) + (4 * 5 + 2 + 1)))
    assert "outside of them" not in "".join(remarks)


def test_nothing_is_said_without_lanes() -> None:
    assert report(PRODUCT, DENSE) == (None, [])


def test_streams_without_readers_do_not_count() -> None:
    """An intersection's coordinates, of which a sum takes none."""
    imbalance, _ = report(SUITE["matmul_ijk"] + " -s=parallelize(j,2)", DENSE)
    assert imbalance == 1.0


def test_lanes_without_tokens_are_even() -> None:
    assert LaneLoads("i", (0, 0)).imbalance == 1.0
    assert LaneLoads("i", (3, 1)).imbalance == 1.5
