"""Designs that are too large say by how much, and what to reduce."""

from __future__ import annotations

import pytest

from gnarl.hw.fpga.boards import find_board
from gnarl.hw.fpga.family import Resources
from gnarl.sw.runtime.fpga.capacity import check_capacity
from gnarl.sw.runtime.fpga.tool_run import FpgaError
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.runtime.target.registry import loaded
from tests.support.targets.memory_target import configuration

pytest.importorskip("amaranth_boards")


def test_what_fits() -> None:
    board = find_board("icebreaker")
    check_capacity(configuration(), board, board.resources)


def test_by_how_much_and_what_to_reduce() -> None:
    with pytest.raises(FpgaError) as caught:
        check_capacity(
            load_configuration("dpu_d1_b8"), find_board("icebreaker"), Resources(6_280, 0, 9, 30)
        )
    assert str(caught.value) == (
        "dpu_d1_b8 is too large for icebreaker: 6,280 LUTs where there are 5,280 (1,000 too "
        "many), 9 DSPs where there are 8 (1 too many): must be less, by a smaller banks = 8, "
        "depth = 1, registers = 16"
    )


def test_targets_that_do_not_say_what_to_reduce() -> None:
    with pytest.raises(FpgaError) as caught:
        check_capacity(configuration(), find_board("icebreaker"), Resources(0, 0, 0, 31))
    assert str(caught.value) == (
        "memory is too large for icebreaker: 31 block RAMs where there are 30 (1 too many): must "
        "be less"
    )


@pytest.mark.parametrize("target", ["dpu", "sam"])
def test_targets_name_fields_that_they_have(target: str) -> None:
    found = loaded()[target]
    names = found.configuration().to_dict()
    generator = found.executor.generator
    assert generator is not None
    assert set(generator.sizes) == set(Resources(0, 0, 0, 0).to_dict())
    assert {field for fields in generator.sizes.values() for field in fields} <= set(names)
