"""Program files at random: refused when they are loaded, or run alike by model and RTL, with the
same errors; and the right program right behind them, on the same machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hw.lib.errors import GnarlError, ProgramError
from hw.tmu.config import TmuConfig
from sw.program.archive import write_archive
from sw.program.manifest import encode
from sw.runtime.configuration import NamedConfiguration, load_configuration
from sw.runtime.host_machine import HostMachine
from sw.runtime.programs import load_program
from sw.runtime.stages import quiet
from sw.runtime.tmu.target import TARGET
from tests.support.random_tmu_programs import Case, case, right_case
from tests.support.small_tmu import HARDWARE
from tests.support.tmu_outcomes import (
    Ending,
    difference,
    job_of,
    on_model,
    on_rtl,
    on_target,
)

CONFIG = HARDWARE.config
assert isinstance(CONFIG, TmuConfig)


def job(made: Case) -> object | None:
    """Of a program that is not refused, which takes a line."""
    try:
        return job_of(made)
    except GnarlError as error:
        assert "\n" not in str(error)
        return None


def check_on_model(numbers: range, seed: int) -> None:
    for number in numbers:
        kind, made = case(CONFIG, seed, number)
        if (given := job(made)) is not None:
            found = difference(on_model(given), on_target(given))
            assert not found, f"case {number} of seed {seed}, {kind}: {found}"


def test_on_the_model():
    check_on_model(range(320), 0)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 100_000, 5000))
def test_many_on_the_model(first: int):
    check_on_model(range(first, first + 5000), 1)


@pytest.mark.parametrize("number", range(12))
def test_as_files(tmp_path: Path, number: int):
    """Files say what programs in memory do."""
    path = tmp_path / "program.npz"
    _, made = case(CONFIG, 0, number)
    write_archive(path, *encode(made.program))
    try:
        made.program.check()
    except ProgramError as error:
        with pytest.raises(ProgramError) as caught:
            load_program(path)
        assert str(caught.value) == f"{path}: {error}"
    else:
        load_program(path).check()


def opened(hardware: NamedConfiguration) -> HostMachine:
    machine = TARGET.machine(hardware, "rtl", waves=None, port=None, stages=quiet)
    assert isinstance(machine, HostMachine)
    return machine


@pytest.fixture(scope="module")
def machine() -> Iterator[HostMachine]:
    found = opened(load_configuration("tmu_l2"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def small_machine() -> Iterator[HostMachine]:
    found = opened(HARDWARE)
    yield found
    found.close()


def check_beside(machine: HostMachine, config: TmuConfig, numbers: range, seed: int) -> None:
    right = job_of(right_case(config, seed))
    end: Ending = on_model(right)
    for number in numbers:
        kind, made = case(config, seed, number)
        if (given := job(made)) is None:
            continue
        place = f"case {number} of seed {seed}, {kind}"
        found = difference(on_model(given), on_rtl(machine, given))
        assert not found, f"{place}: {found}"
        found = difference(end, on_rtl(machine, right))
        assert not found, f"the right program behind {place}: {found}"


def test_beside_rtl(machine: HostMachine):
    config = load_configuration("tmu_l2").config
    assert isinstance(config, TmuConfig)
    check_beside(machine, config, range(60), 0)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 10_000, 1000))
def test_many_beside_rtl(small_machine: HostMachine, first: int):
    """Some 5,000 of which are not refused."""
    check_beside(small_machine, CONFIG, range(first, first + 1000), 1)
