"""Program files at random: refused when they are loaded, or run alike by model and RTL, with the
same errors; and the right program right behind them, on the same machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from gnarl.hw.lib.errors import GnarlError, ProgramError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.program.archive import write_archive
from gnarl.sw.runtime.machine.host_machine import HostJob, HostMachine
from gnarl.sw.runtime.report.stages import quiet
from gnarl.sw.runtime.run.programs import load_program
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.runtime.tmu.target import TARGET
from tests.support.tmu.outcomes import (
    Ending,
    difference,
    first_difference,
    job_of,
    on_model,
    on_rtl,
    on_target,
)
from tests.support.tmu.random_programs import Case, case, right_case
from tests.support.tmu.small_tmu import CONFIG, HARDWARE, WIDER, WIDER_HARDWARE, WIDEST


def check(made: Case, ending: Callable[[HostJob], Ending], place: str) -> bool:
    """Whether the program is not refused; else that takes a line."""
    try:
        job_of(made)
    except GnarlError as error:
        assert "\n" not in str(error)
        return False
    found = first_difference(made, ending)
    assert not found, f"{place}: {found}"
    return True


def check_on_model(config: TmuConfig, numbers: range, seed: int) -> None:
    for number in numbers:
        kind, made = case(config, seed, number)
        check(made, on_target, f"case {number} of seed {seed}, {kind}")


@pytest.mark.parametrize("config, count", [(CONFIG, 240), (WIDEST, 40)], ids=["small", "widest"])
def test_on_the_model(config: TmuConfig, count: int):
    check_on_model(config, range(count), 0)


@pytest.mark.slow
@pytest.mark.parametrize("config", [CONFIG, WIDER, WIDEST], ids=["small", "wider", "widest"])
@pytest.mark.parametrize("first", range(0, 35_000, 5000))
def test_many_on_the_model(first: int, config: TmuConfig):
    check_on_model(config, range(first, first + 5000), 1)


@pytest.mark.parametrize("number", range(12))
def test_as_files(tmp_path: Path, number: int):
    """Files say what programs in memory do."""
    path = tmp_path / "program.npz"
    _, made = case(CONFIG, 0, number)
    write_archive(path, *made.program.encoded())
    try:
        made.program.check()
    except ProgramError as error:
        with pytest.raises(ProgramError) as caught:
            load_program(path)
        assert str(caught.value) == f"{path}: {error}"
    else:
        load_program(path).check()


def opened(hardware: NamedConfiguration) -> HostMachine:
    machine = TARGET.executor.machine(hardware, "rtl", waves=None, port=None, stages=quiet)
    assert isinstance(machine, HostMachine)
    return machine


@pytest.fixture(scope="module")
def machine() -> Iterator[HostMachine]:
    found = opened(load_configuration("tmu_l2"))
    yield found
    found.close()


@pytest.fixture(scope="module", params=[HARDWARE, WIDER_HARDWARE], ids=["small", "wider"])
def small(request: pytest.FixtureRequest) -> Iterator[tuple[HostMachine, TmuConfig]]:
    found = opened(request.param)
    yield found, request.param.config
    found.close()


def check_beside(machine: HostMachine, config: TmuConfig, numbers: range, seed: int) -> None:
    right = job_of(right_case(config, seed))
    end = on_model(right)
    for number in numbers:
        kind, made = case(config, seed, number)
        place = f"case {number} of seed {seed}, {kind}"
        if check(made, partial(on_rtl, machine), place):
            found = difference(end, on_rtl(machine, right))
            assert not found, f"the right program behind {place}: {found}"


def test_beside_rtl(machine: HostMachine):
    config = load_configuration("tmu_l2").config
    assert isinstance(config, TmuConfig)
    check_beside(machine, config, range(60), 0)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 5_000, 1000))
def test_many_beside_rtl(small: tuple[HostMachine, TmuConfig], first: int):
    """Half of which are not refused."""
    check_beside(*small, range(first, first + 1000), 1)
