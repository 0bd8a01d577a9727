"""The whole system: random programs of commands, errors, and all that can interrupt a run."""

from __future__ import annotations

import random
from collections.abc import Sequence

import cocotb
import numpy as np
import pytest

from cocotb_tests.lib.host_port import open_port
from cocotb_tests.lib.interruptions import INTERRUPTIONS, interrupt
from cocotb_tests.lib.run import parts, run_machine, verilog_of
from cocotb_tests.sram_compute.broken import broken, broken_streams, unknown
from cocotb_tests.sram_compute.core_programs import broken_core_programs, core_programs
from cocotb_tests.sram_compute.machine import CYCLE_LIMIT, DONE, IDLE, Machine, use_machine
from cocotb_tests.sram_compute.near_programs import RandomStreams, clearing_engines
from cocotb_tests.sram_compute.programs import RandomProgram, clearing, pattern
from gnarl.hw.lib.encoding import execute_assembly
from gnarl.hw.sram_compute.config import SramConfig
from gnarl.hw.sram_compute.isa import Opcode
from gnarl.hw.sram_compute.memory_map import ErrorCause, memory_map
from gnarl.hw.sram_compute.program import Command, assemble, command
from gnarl.sw.runtime.sram_compute.model.check import StoppedError

CONFIG = SramConfig(
    banks=2,
    arrays=2,
    wordlines=128,
    bitlines=64,
    memory_bytes=1 << 14,
    latency=20,
    bandwidth=2,
    formats=("float8_e4m3",),
    near_lanes=1,
    core_lanes=2,
    core_instructions=64,
    core_cache_bytes=1 << 10,
    core_loads=2,
)

ARRAYS = 128
"""The first line that is no program's."""


def generator() -> random.Random:
    return random.Random(random.getrandbits(64))


def random_commands(chance: random.Random, count: int, cores: Sequence[int] = ()) -> list[Command]:
    return RandomProgram(CONFIG, chance, ARRAYS, cores).commands(count)


def streaming(chance: random.Random, count: int) -> list[Command]:
    """Loops of stream engines, whose registers are known, while lines are copied, some of which
    they access; then all words go to memory."""
    streams = RandomStreams(CONFIG, chance, ARRAYS)
    commands = clearing_engines()
    for _ in range(count):
        commands += [streams.copy() for _ in range(chance.choice((0, 1, 2, 6)))]
        commands += streams.loop()
    return [*commands, streams.copy_all()]


def begin(machine: Machine, chance: random.Random) -> None:
    """Arrays and memory hold something that is known."""
    memory = machine.model.memory
    numbers = np.random.default_rng(chance.getrandbits(64))
    memory[ARRAYS:] = numbers.integers(0, 1 << 32, memory[ARRAYS:].shape, np.uint32)
    machine.run(assemble([*clearing(CONFIG), command(Opcode.END)]))


@cocotb.test()
async def random_programs_do_what_the_model_does(dut):
    """With the same cycles and counters."""
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        chance = generator()
        begin(machine, chance)
        for _ in range(8):
            commands = random_commands(chance, chance.randrange(1, 16))
            machine.run(assemble(commands), chance.randrange(4))
        machine.check_rest()

    await use_machine(port, CONFIG, use)


@cocotb.test()
async def a_run_finds_what_the_one_before_keeps(dut):
    """And zeros behind one that keeps nothing, or has been stopped."""
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        chance = generator()
        begin(machine, chance)
        finds = RandomStreams(CONFIG, chance, ARRAYS).copy_all()
        for after in ("kept", "kept", "cleared", "kept", "stopped", "kept", "cleared"):
            machine.run(assemble([*clearing(CONFIG), command(Opcode.END, keeps=1)]))
            commands = [finds, *random_commands(chance, 6)[:-1]]
            machine.run(assemble([*commands, command(Opcode.END, keeps=after != "cleared")]))
            if after == "stopped":
                machine.run(unknown(chance))
                machine.driver.clear()
            machine.run(assemble([finds, command(Opcode.END, keeps=1)]))
        machine.check_rest()

    await use_machine(port, CONFIG, use)


@cocotb.test()
async def the_core_runs_between_other_commands(dut):
    """What it writes is there for all behind it, what they write is there for it."""
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        chance = generator()
        begin(machine, chance)
        for _ in range(6):
            instructions, cores = core_programs(CONFIG, chance, ARRAYS)
            machine.load_core(instructions)
            commands = random_commands(chance, chance.randrange(1, 16), cores)
            machine.run(assemble([command(Opcode.CORE, first=cores[0]), *commands]))
            counters = machine.driver.counters()
            spent = [count for name, count in counters.items() if name.startswith("cycles_")]
            assert sum(spent) == machine.driver.cycles()
            assert counters["cycles_core"] > counters["core_lines_read"] > 0
            assert counters["core_lines_written"] > 0
        machine.check_rest()

    await use_machine(port, CONFIG, use)


@cocotb.test()
async def faults_of_the_core_are_named(dut):
    """The instruction is named; a whole program runs behind each."""
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        chance = generator()
        begin(machine, chance)
        for bad, cause, place in broken_core_programs(CONFIG):
            instructions, cores = core_programs(CONFIG, chance, ARRAYS)
            first = len(instructions)
            machine.load_core(np.concatenate([instructions, bad]))
            before = random_commands(chance, 2, cores)[:-1]
            ended = machine.run(assemble([*before, command(Opcode.CORE, first=first)]))
            assert isinstance(ended, StoppedError)
            assert (ended.cause, ended.detail) == (cause, first + place)
            machine.driver.clear()
            machine.run(assemble([*clearing(CONFIG), *random_commands(chance, 4, cores)]))

    await use_machine(port, CONFIG, use)


@cocotb.test()
async def faults_name_their_stream(dut):
    """A whole program runs behind each."""
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        chance = generator()
        begin(machine, chance)
        for name, (commands, stream) in broken_streams(CONFIG).items():
            before = random_commands(chance, 2)[:-1] if chance.random() < 0.5 else []
            ended = machine.run(assemble([*before, *commands, command(Opcode.END)]))
            assert isinstance(ended, StoppedError), name
            assert (ended.cause, ended.detail) == (ErrorCause.STREAM, stream), name
            machine.driver.clear()
            machine.run(assemble([*clearing(CONFIG), *streaming(chance, 1), command(Opcode.END)]))

    await use_machine(port, CONFIG, use)


@cocotb.test()
async def a_core_that_waits_for_ever_is_stopped(dut):
    """There is nothing in its queues."""
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        machine.load_core(execute_assembly.assemble("add s1, deq, zero\n halt").words())
        ended = machine.run(assemble([command(Opcode.SYNC), command(Opcode.CORE)]), 2)
        assert isinstance(ended, StoppedError)
        assert (ended.cause, ended.detail) == (ErrorCause.DEADLOCK, 9)

    await use_machine(port, CONFIG, use)


@cocotb.test()
async def streams_do_what_the_model_does(dut):
    """On words, bits of words and indices, between other commands."""
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        chance = generator()
        begin(machine, chance)
        crossing = 0
        for _ in range(12):
            commands = streaming(chance, chance.randrange(1, 5))
            machine.run(assemble([*commands, *random_commands(chance, 3)]))
            counters = machine.driver.counters()
            spent = [count for name, count in counters.items() if name.startswith("cycles_")]
            assert sum(spent) == machine.driver.cycles()
            near = counters["cycles_near"], counters["cycles_final"]
            assert sum(near) > counters["near_strips"] > 16
            crossing += counters["bits_between_banks"]
        assert crossing
        machine.check_rest()

    await use_machine(port, CONFIG, use)


@cocotb.test()
async def a_run_again_takes_the_same_cycles(dut):
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        chance = generator()
        begin(machine, chance)
        units = assemble([*clearing(CONFIG), *random_commands(chance, 8)])
        machine.run(units)
        cycles = machine.driver.cycles()
        machine.run(units)
        assert machine.driver.cycles() == cycles

    await use_machine(port, CONFIG, use)


@cocotb.test()
async def bad_commands_are_named(dut):
    """A whole program runs behind each."""
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        chance = generator()
        begin(machine, chance)
        for name, given in broken(CONFIG).items():
            before = random_commands(chance, 2)[:-1] if chance.random() < 0.5 else []
            ended = machine.run(assemble([*before, *given.commands]))
            assert isinstance(ended, StoppedError), name
            assert ended.cause == given.cause, name
            machine.driver.clear()
        machine.run(assemble([*clearing(CONFIG), *random_commands(chance, 6)]))

    await use_machine(port, CONFIG, use)


@cocotb.test()
async def what_is_no_command_is_named(dut):
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        chance = generator()
        begin(machine, chance)
        for _ in range(4):
            before = assemble(random_commands(chance, 1)[:-1])
            ended = machine.run(np.concatenate([before, unknown(chance)]), 3)
            assert isinstance(ended, StoppedError)
            assert (ended.cause, ended.detail) == (ErrorCause.COMMAND, 12 + len(before))
            machine.driver.clear()

    await use_machine(port, CONFIG, use)


@cocotb.test()
async def programs_do_not_end_with_memory(dut):
    """Neither between two commands nor within one."""
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        begin(machine, generator())
        last = 4 * CONFIG.memory_lines - 1
        for commands, unit in (
            ([command(Opcode.SYNC)] * 4, last + 1),
            ([command(Opcode.SYNC)] * 3 + [clearing(CONFIG)[0]], last),
        ):
            units = assemble(commands)[:4]
            ended = machine.run(units, CONFIG.memory_lines - 1)
            assert isinstance(ended, StoppedError)
            assert (ended.cause, ended.detail) == (ErrorCause.ADDRESS, unit)
            machine.driver.clear()

    await use_machine(port, CONFIG, use)


@cocotb.test()
async def an_error_stays_until_a_clear(dut):
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        chance = generator()
        begin(machine, chance)
        ended = machine.run(unknown(chance))
        machine.load(assemble(clearing(CONFIG)), 0)
        for _ in range(2):
            machine.driver.start()
            machine.check(ended, machine.driver.wait(CYCLE_LIMIT))
        machine.driver.clear()
        assert machine.driver.status() == IDLE
        machine.run(assemble([*clearing(CONFIG), *random_commands(chance, 4)]))

    await use_machine(port, CONFIG, use)


def crossings() -> list[Command]:
    """Most of the time there are rows on their way between banks."""
    places = pattern("bitlines", 0, (1, CONFIG.bitlines)) | pattern("tiles", 0, (1, CONFIG.tiles))
    shift = command(Opcode.SHIFT, d=32, n=16, **places, between=CONFIG.arrays)
    return [shift, command(Opcode.SYNC)]


@cocotb.test()
@cocotb.parametrize(interruption=INTERRUPTIONS)
async def a_run_that_is_interrupted_leaves_nothing_behind(dut, interruption):
    """Ends runs after some of their first cycles and at random ones; a clean run follows each, in
    the cycles that it takes otherwise."""
    port = await open_port(dut)
    chance = generator()
    machine = await use_machine(port, CONFIG, lambda machine: machine)
    instructions, cores = core_programs(CONFIG, chance, ARRAYS)
    await use_machine(port, CONFIG, lambda _: machine.load_core(instructions))
    computed = [*clearing(CONFIG), *crossings() * 3, *streaming(chance, 2)]
    units = assemble([*computed, *random_commands(chance, 6, cores)])
    begun = machine.model.memory.copy()

    def run() -> int:
        machine.model.memory[:] = begun
        machine.forget()
        machine.run(units)
        return machine.driver.cycles()

    cycles = await use_machine(port, CONFIG, lambda _: run())
    for until in [0, *(random.randrange(cycles) for _ in range(3)), cycles - 1]:
        await interrupt(port, interruption, until)
        assert await use_machine(port, CONFIG, lambda _: run()) == cycles


@cocotb.test()
async def the_windows_are_closed_while_it_is_busy(dut):
    """Writes are lost, and what is read is 0."""
    port = await open_port(dut)

    def use(machine: Machine) -> None:
        begin(machine, generator())
        machine.load(assemble([*clearing(CONFIG) * 8, command(Opcode.END)]), 0)
        expected = machine.expected()
        machine.driver.start()
        for window in memory_map(CONFIG).windows:
            port.write_words(window.base, np.full(2, 0x5555_5555, np.uint32))
            assert port.read_words(window.base, 2).tolist() == [0, 0]
        status = machine.driver.wait(CYCLE_LIMIT)
        assert status == DONE
        machine.check(expected, status)
        machine.check_rest()

    await use_machine(port, CONFIG, use)


@cocotb.test()
async def a_host_that_stalls_sees_the_same(dut):
    port = await open_port(dut, stalls=0.5)

    def use(machine: Machine) -> None:
        begin(machine, generator())
        machine.run(assemble(random_commands(generator(), 6)))

    await use_machine(port, CONFIG, use)


INTERRUPTED = [f"interrupted.*{interruption}" for interruption in INTERRUPTIONS]
PARTS = parts("faults|bad_commands", *INTERRUPTED, "the_core_runs|a_core_that_waits")


@pytest.mark.parametrize("tests", PARTS, ids=["errors", *INTERRUPTIONS, "core", "others"])
def test_sram_compute(tests):
    run_machine(verilog_of("sram", CONFIG), __name__, name="sram", tests=tests)
