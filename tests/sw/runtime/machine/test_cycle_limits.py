"""Runs that take more cycles than they may: on models and on RTL, with one text, and right runs
afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.encoding.execute_assembly import assemble as assemble_core
from gnarl.hw.lib.encoding.execute_isa import Opcode as Arithmetic
from gnarl.hw.lib.errors import ProgramError, WorkloadError
from gnarl.hw.lib.machine.memory_map import NO_LIMIT
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.program import assemble, command
from gnarl.hw.tmu.access_isa import Event, EventKind, Mode, StreamKind
from gnarl.hw.tmu.access_program import AccessProgram, EventStep, Layer, Stream, Unit
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.sram_compute.sections import program_of
from gnarl.sw.program.program import Program
from gnarl.sw.program.tensor_spec import TensorSpec
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.tmu.model import access
from gnarl.sw.workloads.dag.generate import random_dag
from tests.support.commands import gnarl, refusal

NEST = """
n = sizes("n")


@nest
def scaled(a: int32[n], b: int32[n]):
    for i in range(n):
        b[i] = a[i] * 3
"""

NAMES = {
    "dpu": "dpu_d1_b8",
    "sam": "sam_fp32",
    "tmu": "tmu_l2",
    "sram": "sram_b2",
}
"""A configuration of each target with the common host port."""

EXPRESSION = "x(i)=b(i)*c(i) -f=x:d -f=b:d -f=c:d"

BACKENDS = ("model", "rtl")


@dataclass(frozen=True)
class Case:
    """A device, and a program that it runs right."""

    device: Device
    program: Program
    inputs: Any

    def run(self, program: Program | None = None, **options: Any) -> int:
        """The cycles of a run that is right."""
        result = self.device.run(program or self.program, self.inputs, **options)
        assert self.device.verify(result).difference == ""
        return result.cycles or 0

    def stops(self, program: Program | None = None, **options: Any) -> int:
        """The cycles within which a run does not end; a right one follows."""
        with pytest.raises(ProgramError) as caught:
            self.device.run(program or self.program, self.inputs, **options)
        self.run()
        name = (program or self.program).workload
        text = rf"{re.escape(name)}: {self.device.backend} did not end within (\d+) cycles: "
        found = re.fullmatch(text + "--max-cycles N allows more", str(caught.value))
        assert found, str(caught.value)
        return int(found[1])

    def changed(self, **sections: np.ndarray) -> Program:
        """The program with other sections, as a file may have it."""
        launch = self.program.launches[0]
        other = replace(launch, sections={**launch.sections, **sections})
        found = Program(**{**vars(self.program), "launches": (other,)})
        found.check()
        return found


def case(device: Device, folder: Path) -> Case:
    name = device.target.name
    if name == "dpu":
        workload: Any = random_dag(60, seed=1)
        return Case(device, device.compile(workload), workload.inputs)
    numbers = np.arange(1, 13)
    if name == "sam":
        values = {"b": numbers.astype(np.float32), "c": numbers.astype(np.float32)}
        workload = device.workload(device.target.reader.source(EXPRESSION, {}))
        return Case(device, device.compile(workload), values)
    path, given = folder / "scaled.py", folder / "a.npy"
    path.write_text(NEST)
    np.save(given, numbers.astype(np.int32))
    workload = device.workload(device.target.reader.source(str(path), {"a": str(given)}))
    options = {"place": "core"} if name == "sram" else {}
    return Case(device, device.compile(workload, **options), workload.inputs)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], Case]]:
    found: dict[tuple[str, str], Case] = {}
    with ExitStack() as stack:

        def get(target: str, backend: str) -> Case:
            if (target, backend) not in found:
                device = stack.enter_context(Device(NAMES[target], backend))
                found[target, backend] = case(device, tmp_path_factory.mktemp(target))
            return found[target, backend]

        yield get


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("target", NAMES)
def test_a_run_may_take_all_of_its_cycles_and_no_more(cases, target, backend):
    found = cases(target, backend)
    cycles = found.run()
    if not cycles:  # the model of the TMU counts none
        assert found.stops(max_cycles=5) == 5
        return
    assert found.run(max_cycles=cycles) == cycles
    for limit in (1, cycles - 1):
        assert found.stops(max_cycles=limit) == limit


@pytest.mark.parametrize("target", NAMES)
def test_the_limit_without_one_is_far_from_what_right_runs_take(cases, target):
    found = cases(target, "rtl")
    device, (launch,) = found.device, found.program.launches
    if target == "sram":
        (launch,) = device.run(found.program, found.inputs).program.launches
    cycles = found.run()
    program = device.target.compiler.lowered(
        found.program, found.inputs, device.configuration.config, device.stages
    )
    tensors = device.target.executor.bind(program, found.inputs)
    job = device.target.executor.job(program, program.launches[0], tensors)
    limit = device.target.executor.limited(job, None).max_cycles
    if target == "sam":  # whose runs end
        assert limit == NO_LIMIT
        return
    assert cycles <= limit < 10_000_000
    assert target == "dpu" or limit > 8 * cycles


def tmu_programs(found: Case) -> dict[str, Program]:
    """Programs without an end, which pass all checks."""
    config = TmuConfig.from_dict(found.program.config)

    def instructions(text: str) -> np.ndarray:
        """In the place of the program's own first ones: what tokens name stays there."""
        own = found.program.launches[0].sections["instructions"].copy()
        words = assemble_core(text, "test", {}).words()
        own[: len(words)] = words
        return own

    endless = instructions("again:\njump again\nhalt")
    takes = instructions("again:\nadd s1, deq, zero\njump again\nhalt")
    loops = instructions(
        "add s1, zero, 0x7fffffff\nloop s1, done\nadd s2, s2, 1\nadd s2, s2, 1\ndone:\nhalt"
    )
    induction = Stream(StreamKind.INDUCTION, queued=True)
    unit = Unit(upper_immediate=2**31 - 1, streams=(induction,))
    word = {Event.ITERATION: (EventStep(EventKind.WORD, 0, 0, 0),)}
    queues = AccessProgram((Layer(Mode.SINGLE, (unit,), 4, events=word),)).rows(config)
    return {
        "jump": found.changed(instructions=endless),
        "loop": found.changed(instructions=loops),
        "queue": found.changed(**queues, instructions=takes),
    }


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["jump", "loop", "queue"])
def test_programs_of_the_tmu_end(cases, name, backend):
    found = cases("tmu", backend)
    program = tmu_programs(found)[name]
    assert found.stops(program, max_cycles=20_000) == 20_000
    assert found.stops(program) < 1_000_000


def test_the_model_holds_no_more_words_than_it_has_memory_for(cases, monkeypatch):
    monkeypatch.setattr(access, "MOST_HELD", 1000)
    found = cases("tmu", "model")
    text = (
        "the access unit gives more than 1000 words, tokens and requests: the model holds no more"
    )
    with pytest.raises(ProgramError, match=text):
        found.device.run(tmu_programs(found)["queue"], found.inputs)


@pytest.mark.parametrize("backend", BACKENDS)
def test_programs_of_the_core_end(cases, backend):
    device = cases("sram", backend).device
    config: Any = device.configuration.config
    assert isinstance(config, SramConfig)
    units = assemble([command(Opcode.CORE), command(Opcode.END)])
    endless, halts = (
        program_of(
            config,
            "by hand",
            [],
            [(TensorSpec("b", (16,), "int32"), 16)],
            units,
            assemble_core(text, "test", {}).words(),
        )
        for text in ("again:\njump again\nhalt", "halt")
    )
    found = Case(device, halts, {})
    assert found.stops(endless, max_cycles=20_000) == 20_000
    if backend == "model":  # the RTL's limit, which takes it longer, is the same
        assert found.stops(endless) < 3_000_000


def test_stream_engines_without_an_end(cases):
    """The loops of a command go over more than there is time for."""
    device = cases("sram", "model").device
    units = assemble(
        [
            command(Opcode.OPERATION, operation=Arithmetic.ADD.value),
            command(Opcode.NEAR, counts=((1 << 20) - 1,) * 3),
            command(Opcode.END),
        ]
    )
    output = (TensorSpec("b", (16,), "int32"), 16)
    config: Any = device.configuration.config
    endless = program_of(config, "by hand", [], [output], units)
    halts = program_of(config, "by hand", [], [output], assemble([command(Opcode.END)]))
    assert Case(device, halts, {}).stops(endless, max_cycles=20_000) == 20_000


@pytest.mark.parametrize("limit", [0, -1])
def test_no_cycles_are_refused(cases, limit):
    found = cases("dpu", "model")
    with pytest.raises(WorkloadError, match=f"^max_cycles = {limit}: must be at least 1$"):
        found.device.run(found.program, found.inputs, max_cycles=limit)


@pytest.mark.parametrize("verb", ["run", "compare"])
def test_the_option_ends_a_command_with_one_line(tmp_path, verb):
    source = tmp_path / "scaled.py"
    source.write_text(NEST)
    np.save(tmp_path / "a.npy", np.arange(4, dtype=np.int32))
    configurations = ["tmu_l2", "tmu_l8"] if verb == "compare" else ["tmu_l2"]
    names = [source, *configurations] if verb == "compare" else [*configurations, source]
    arguments = (verb, *names, "--backend", "model", "--tensor", f"a={tmp_path / 'a.npy'}")
    assert gnarl(*arguments, "--max-cycles", "100000").exit_code == 0
    text = refusal(tmp_path, *arguments, "--max-cycles", "3")
    assert text.endswith(": model did not end within 3 cycles: --max-cycles N allows more")


def test_the_option_is_refused_where_cycles_are_not_limited(tmp_path):
    text = refusal(tmp_path, "run", "cuda_sm90", "x.py", "--max-cycles", "3")
    assert "gnarl run: --max-cycles: not supported by target cuda. " in text


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many"])
def test_numbers_that_are_no_limit_are_refused(tmp_path, value):
    assert "--max-cycles" in refusal(tmp_path, "run", "dpu_d1_b8", "x", "--max-cycles", value)
