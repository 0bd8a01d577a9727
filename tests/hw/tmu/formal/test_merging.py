"""A bounded proof that a merge is in order, and that nothing is lost, doubled or made up."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Module, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from gnarl.hw.tmu.access.merge.merger import Merger
from tests.support.machines.proofs import has_solver, prove
from tests.support.machines.yowasp import prepare

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_solver(), reason="no yices-smt2 on this computer"),
]

_ELEMENTS = 3
_CYCLES = 14


class MergeRules(wiring.Component):
    """Any ascending fibers of up to ``_ELEMENTS`` coordinates, which come when they like to, and
    whether rules about any one coordinate that is ``watched`` are broken, of a merge that
    ``claims_all`` or any."""

    def __init__(self, lanes: int, wants_all: bool, claims_all: bool) -> None:
        self._lanes = lanes
        self._wants_all = wants_all
        self._claims_all = claims_all
        super().__init__(
            {
                "coordinates": In(lanes * _ELEMENTS * 32),
                "lengths": In(lanes * 2),
                "watched": In(32),
                "valid": In(lanes),
                "ready": In(1),
                "out_of_order": Out(1),
                "made_up": Out(1),
                "elsewhere": Out(1),
                "lost": Out(1),
                "popped_beyond": Out(1),
            }
        )

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.merger = merger = Merger(self._lanes)
        lanes = range(self._lanes)
        fibers = Signal(data.ArrayLayout(data.ArrayLayout(unsigned(32), _ELEMENTS), self._lanes))
        lengths = Signal(data.ArrayLayout(unsigned(2), self._lanes))
        popped = [Signal(range(_ELEMENTS + 1), name=f"popped_{lane}") for lane in lanes]
        watched = Signal(32)
        cycle = Signal(2)
        with m.If(cycle == 0):
            m.d.sync += [
                fibers.eq(self.coordinates),
                lengths.eq(self.lengths),
                watched.eq(self.watched),
            ]
        with m.If(cycle != 2):
            m.d.sync += cycle.eq(cycle + 1)

        asked = Signal.like(merger.bounds_lane)
        m.d.sync += asked.eq(merger.bounds_lane)
        m.d.comb += [
            merger.units.eq(self._lanes),
            merger.wants_all.eq(self._wants_all),
            merger.begun.eq(cycle == 1),
            merger.bounds.upper.eq(Array(lengths)[asked]),
            merger.bounds.stride.eq(1),
            merger.merged.ready.eq(self.ready),
        ]
        has: list[Value] = []
        ascends: list[Value] = []
        for lane in lanes:
            words = [fibers[lane][number] for number in range(_ELEMENTS)]
            is_left = popped[lane] < lengths[lane]
            m.d.comb += [
                merger.heads[lane].eq(Array(words)[popped[lane]]),
                merger.valid[lane].eq(self.valid[lane] & is_left),
            ]
            with m.If(merger.pops[lane]):
                m.d.sync += popped[lane].eq(popped[lane] + 1)
            ascends += [
                (low < high) | (number + 1 >= lengths[lane])
                for number, (low, high) in enumerate(zip(words, words[1:], strict=False))
            ]
            found = [(word == watched) & (n < lengths[lane]) for n, word in enumerate(words)]
            has.append(Cat(found).any())

        payload = merger.merged.payload
        gives = Signal()
        given, any_given = Signal(), Signal()
        last = Signal(32)
        is_fair = Cat(ascends).all()
        takes = merger.merged.valid & self.ready & is_fair
        in_merge = Cat(has).all() if self._claims_all else Cat(has).any()
        m.d.comb += gives.eq(takes & ~payload.is_end)
        is_watched = gives & (payload.coordinate == watched)
        with m.If(gives):
            m.d.sync += [last.eq(payload.coordinate), any_given.eq(1)]
        with m.If(is_watched):
            m.d.sync += given.eq(1)
        places = Cat(
            payload.lanes[lane]
            & (Array(fibers[lane])[payload.positions[lane][:2]] != payload.coordinate)
            for lane in lanes
        )
        m.d.comb += [
            self.out_of_order.eq(gives & any_given & (payload.coordinate <= last)),
            self.made_up.eq(is_watched & ((payload.lanes != Cat(has)) | ~in_merge)),
            self.elsewhere.eq(gives & places.any()),
            self.lost.eq(takes & payload.is_end & in_merge & ~given),
            self.popped_beyond.eq(
                Cat(merger.pops[n] & (popped[n] >= lengths[n]) for n in lanes).any()
            ),
        ]
        return m


@pytest.fixture(scope="module", autouse=True)
def tools():
    prepare()


@pytest.mark.parametrize("wants_all", [False, True])
def test_rules_hold(tmp_path, wants_all):
    assert prove(MergeRules(2, wants_all, wants_all), _CYCLES, tmp_path) == ("PASS", [])


@pytest.mark.parametrize(("wants_all", "broken"), [(False, "made_up"), (True, "lost")])
def test_the_other_merge_breaks_them(tmp_path, wants_all, broken):
    verdict, rules = prove(MergeRules(2, wants_all, not wants_all), _CYCLES, tmp_path)
    assert (verdict, rules) == ("FAIL", [broken])
