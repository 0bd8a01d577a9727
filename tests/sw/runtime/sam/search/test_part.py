"""A region as a model of its own: what it becomes in the whole program."""

from __future__ import annotations

import random

import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.fuse.schedule import Schedule
from gnarl.sw.program.host_step import with_made
from gnarl.sw.runtime.sam.estimate.estimate import estimate_launch
from gnarl.sw.runtime.sam.rearranged import moved
from gnarl.sw.runtime.sam.search.candidate import Candidate, Candidates, statements_of
from tests.support.errors import noted
from tests.support.sam.models import valued_model
from tests.support.sam.programs import make_program

Found = tuple[int, tuple[str, ...]]


def in_whole(own: Candidates, unfused: Candidate, begin: int, end: int) -> Found | None:
    """Cycles and order of the region of some statements, compiled with all others."""
    names = statements_of(unfused.schedule.regions)
    single = [Region((name,)) for name in names]
    cut = (*single[:begin], Region(tuple(names[begin:end])), *single[end:])
    schedule = Schedule(formats=unfused.schedule.formats, regions=cut)
    try:
        compiled = own.compiled(schedule=schedule)
        tensors = with_made(compiled.program.steps, unfused.estimate.tensors, moved)
        found, _ = estimate_launch(compiled.program.launches[begin], tensors)
    except GnarlError:
        return None
    return found.cycles, compiled.regions[begin].order


@pytest.mark.parametrize("traits", [{}, {"disordered": True}, {"masked": True}, {"moving": True}])
def test_a_region_by_itself_is_that_of_the_whole(traits: dict[str, bool]) -> None:
    compared = 0
    for seed in range(12):
        case = make_program(seed, **traits)
        model = valued_model(case.program, case.tensors)
        own = Candidates(model, SamConfig(), model.inputs)
        unfused = own.made(fuse="none")
        if unfused is None:
            continue
        names = statements_of(unfused.schedule.regions)
        rng = random.Random(seed)
        for _ in range(3):
            begin = rng.randrange(len(names))
            end = rng.randint(begin + 1, len(names))
            with noted(f"seed {seed}: {begin} to {end}"):
                expected = in_whole(own, unfused, begin, end)
                if expected is not None:
                    region = Region(tuple(names[begin:end]))
                    taken = own.of_region(unfused, region)
                    assert taken is not None and taken[:2] == expected
                    compared += end - begin > 1
    assert compared > 3


def test_indices_are_one_if_a_later_statement_makes_them_so() -> None:
    """The two results of the region have rows of one size, as their sum says."""
    text = (
        "a(i,j)=sum[k](A(i,k)*X(k,j)); b(i,j)=sum[k](B(i,k)*X(k,j)); y(i,j)=a(i,j)+b(i,j) "
        "-f=A:ds -f=B:ds"
    )
    model = valued_model(
        text, {"A": [[1, 0], [0, 2]], "B": [[0, 3], [4, 0]], "X": [[1, 2], [3, 4]]}
    )
    own = Candidates(model, SamConfig(), model.inputs)
    unfused = own.made(fuse="none")
    assert unfused is not None
    expected = in_whole(own, unfused, 0, 2)
    assert expected is not None
    taken = own.of_region(unfused, Region(("a", "b")))
    assert taken is not None and taken[:2] == expected
