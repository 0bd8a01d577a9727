from __future__ import annotations

from typing import Any

import pytest

from gnarl.hw.dpu.register_bank import RegisterBank
from tests.hw.dpu.simulate import seeded, simulate


async def cycle(ctx: Any, bank: RegisterBank, **inputs: int) -> tuple[int, int, int]:
    """One cycle with these inputs, the others 0: the word read, ``empty`` and ``full``."""
    for name in ("read_enable", "read_address", "valid_reset", "write_enable", "word", "clear"):
        ctx.set(getattr(bank, name), inputs.get(name, 0))
    seen = ctx.get(bank.o), ctx.get(bank.empty), ctx.get(bank.full)
    await ctx.tick()
    return seen


async def write(ctx: Any, bank: RegisterBank, word: int, **inputs: int) -> None:
    assert (await cycle(ctx, bank, write_enable=1, word=word, **inputs))[1:] == (0, 0)


async def read(ctx: Any, bank: RegisterBank, address: int, **inputs: int) -> int:
    word, empty, full = await cycle(ctx, bank, read_enable=1, read_address=address, **inputs)
    assert (empty, full) == (0, 0)
    return word


@pytest.mark.parametrize("registers", [8, 12, 256])
def test_an_empty_bank_fills_from_below(registers):
    bank = RegisterBank(16, registers)

    async def process(ctx):
        for word in range(registers):
            await write(ctx, bank, 100 + word)
        for address in range(registers):
            assert await read(ctx, bank, address) == 100 + address
        assert await cycle(ctx, bank, write_enable=1, word=7) == (0, 0, 1)
        # The word that found no room is lost.
        assert [await read(ctx, bank, address) for address in range(registers)] == list(
            range(100, 100 + registers)
        )

    simulate(bank, process)


def test_the_lowest_freed_register_is_written_first():
    bank = RegisterBank(16, 8)

    async def process(ctx):
        for word in range(8):
            await write(ctx, bank, word)
        assert await read(ctx, bank, 5, valid_reset=1) == 5
        assert await read(ctx, bank, 2, valid_reset=1) == 2
        await write(ctx, bank, 102)
        await write(ctx, bank, 105)
        assert await read(ctx, bank, 2) == 102
        assert await read(ctx, bank, 5) == 105

    simulate(bank, process)


def test_a_register_freed_in_a_cycle_is_not_written_in_it():
    bank = RegisterBank(16, 8)

    async def process(ctx):
        await write(ctx, bank, 1)
        assert await read(ctx, bank, 0, valid_reset=1, write_enable=1, word=2) == 1
        assert await read(ctx, bank, 1) == 2
        await write(ctx, bank, 3)
        assert await read(ctx, bank, 0) == 3
        for word in range(6):
            await write(ctx, bank, word)
        # So a full bank takes no word in the cycle that frees one.
        found = await cycle(
            ctx, bank, read_enable=1, read_address=4, valid_reset=1, write_enable=1, word=9
        )
        assert found == (2, 0, 1)

    simulate(bank, process)


def test_a_word_is_read_in_the_cycle_in_which_it_is_written():
    bank = RegisterBank(16, 8)

    async def process(ctx):
        assert await read(ctx, bank, 0, write_enable=1, word=11) == 11
        assert await read(ctx, bank, 0, write_enable=1, word=12) == 11
        assert await read(ctx, bank, 2, write_enable=1, word=13) == 13
        assert await read(ctx, bank, 1) == 12

    simulate(bank, process)


def test_a_word_that_is_read_and_freed_as_it_is_written_leaves_its_register_empty():
    bank = RegisterBank(16, 8)

    async def process(ctx):
        assert await read(ctx, bank, 0, write_enable=1, word=11, valid_reset=1) == 11
        assert (await cycle(ctx, bank, read_enable=1, read_address=0))[1:] == (1, 0)
        await write(ctx, bank, 12)
        assert await read(ctx, bank, 0) == 12

    simulate(bank, process)


def test_freeing_needs_no_reading_and_no_word():
    bank = RegisterBank(16, 8)

    async def process(ctx):
        await write(ctx, bank, 1)
        await write(ctx, bank, 2)
        assert await cycle(ctx, bank, read_address=0, valid_reset=1) == (0, 0, 0)
        assert await cycle(ctx, bank, read_address=7, valid_reset=1) == (0, 0, 0)
        await write(ctx, bank, 3)
        assert await read(ctx, bank, 0) == 3
        assert await read(ctx, bank, 1) == 2

    simulate(bank, process)


def test_reading_what_is_empty_is_an_error():
    bank = RegisterBank(16, 8)

    async def process(ctx):
        for address in range(8):
            assert (await cycle(ctx, bank, read_enable=1, read_address=address))[1:] == (1, 0)
        await write(ctx, bank, 1)
        assert (await cycle(ctx, bank, read_enable=1, read_address=1))[1:] == (1, 0)
        found = await cycle(ctx, bank, read_enable=1, read_address=2, write_enable=1, word=5)
        assert found[1:] == (1, 0)

    simulate(bank, process)


def test_clear_empties_whatever_else_happens():
    bank = RegisterBank(16, 8)

    async def process(ctx):
        for word in range(5):
            await write(ctx, bank, word)
        await cycle(ctx, bank, clear=1, write_enable=1, word=9)
        assert (await cycle(ctx, bank, read_enable=1, read_address=0))[1:] == (1, 0)
        await write(ctx, bank, 21)
        assert await read(ctx, bank, 0) == 21
        for word in range(7):
            await write(ctx, bank, word)
        await cycle(ctx, bank, clear=1)
        await write(ctx, bank, 22)

    simulate(bank, process)


def test_reads_that_are_not_enabled_give_0():
    bank = RegisterBank(16, 8)

    async def process(ctx):
        await write(ctx, bank, 77)
        assert await cycle(ctx, bank, read_address=0) == (0, 0, 0)
        assert await cycle(ctx, bank, read_address=1, write_enable=1, word=5) == (0, 0, 0)

    simulate(bank, process)


@pytest.mark.parametrize("registers", [8, 12, 33])
def test_random_reads_writes_and_frees(registers):
    bank = RegisterBank(16, registers)
    rng = seeded()

    async def process(ctx):
        words: list[int | None] = [None] * registers
        for step in range(2000):
            busy = 0.9 if step % 200 < 100 else 0.2
            address = rng.randrange(registers)
            word = rng.randrange(1, 1 << 16)
            inputs = {
                "read_enable": rng.random() < 0.7,
                "read_address": address,
                "valid_reset": rng.random() < 1 - busy,
                "write_enable": rng.random() < busy,
                "word": word,
                "clear": rng.random() < 0.005,
            }
            found = await cycle(ctx, bank, **inputs)
            full = None not in words
            if inputs["write_enable"] and not full:
                words[words.index(None)] = word
            held = words[address]
            if not inputs["read_enable"]:
                assert found[0] == 0
            elif held is not None:
                assert found[0] == held
            assert found[1] == (inputs["read_enable"] and held is None)
            assert found[2] == (inputs["write_enable"] and full)
            if inputs["valid_reset"]:
                words[address] = None
            if inputs["clear"]:
                words = [None] * registers

    simulate(bank, process)
