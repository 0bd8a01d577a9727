"""Commands refuse damaged input in one line, or do something right with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.fuzz.formats import FORMATS
from tests.fuzz.runner import Runner

SEED = 0
TEST, TEST_ALL = 300, 100_000
"""Cases of ``make test`` and ``make test-all``."""

ACCEPTED = 0.05
"""Share of inputs that are still right, or else only the first check would be tested."""

BATCHES = [
    *((first, 100) for first in range(0, TEST, 100)),
    *(pytest.param((first, 500), marks=pytest.mark.slow) for first in range(TEST, TEST_ALL, 500)),
]


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    with Runner(tmp_path_factory.mktemp("fuzz")) as runner:
        yield runner


@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: f"{batch[0]}-{sum(batch) - 1}")
def test_damaged_input(runner: Runner, batch: tuple[int, int]) -> None:
    first, count = batch
    outcomes = [runner.run(SEED, number) for number in range(first, first + count)]
    failed = [
        f"python -m tests.fuzz --seed {SEED} --case {outcome['number']}: {outcome['failure']}: "
        f"{outcome['damage']}: gnarl {' '.join(outcome['command'])}"[:500]
        for outcome in outcomes
        if outcome["failure"]
    ]
    assert not failed, "\n".join(failed)
    assert {outcome["format"] for outcome in outcomes} == {format.name for format in FORMATS}
    statuses = Counter(outcome["status"] for outcome in outcomes)
    assert statuses[0] >= ACCEPTED * count
    assert statuses[2] >= ACCEPTED * count
