from __future__ import annotations

from typing import Any

import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.dpu.decoder import Decoder, illegal_layout
from gnarl.hw.dpu.isa import FIRST_WRITER, WRITE_COPY, Opcode, instruction, opcodes
from gnarl.hw.dpu.topology import writers
from tests.hw.dpu.simulate import seeded, simulate_combinational

EXECS = (Opcode.EXEC, Opcode.EXEC_LOAD, Opcode.EXEC_STORE)
KINDS = {
    "nop": (Opcode.NOP,),
    "halt": (Opcode.HALT,),
    "exec": EXECS,
    "copy": (Opcode.COPY,),
    "load": (Opcode.LOAD, Opcode.EXEC_LOAD),
    "store": (Opcode.STORE, Opcode.EXEC_STORE),
}
ARRAYS = ("read_address", "source", "operation", "write_source")


def small(**fields: Any) -> DpuConfig:
    sizes = {"depth": 2, "banks": 8, "registers": 8, "format": "float16", "data_rows": 16}
    return DpuConfig(**sizes | fields)


ODD = small(banks=12, registers=12, data_rows=20, output_interconnect="single")
CONFIGS = [
    small(),
    ODD,
    small(overlap=False),
    small(depth=3, banks=16, output_interconnect="crossbar"),
]


def limits(config: DpuConfig, name: str) -> list[int]:
    """How many values each element of a field may take."""
    return {
        "read_address": [config.registers] * config.banks,
        "source": [config.banks] * config.banks,
        "operation": [7] * config.pes,
        "write_source": [FIRST_WRITER + len(writers(config, b)) for b in range(config.banks)],
        "row": [config.data_rows],
    }[name]


def random_fields(config: DpuConfig, opcode: Opcode, rng: Any) -> dict[str, Any]:
    """Legal values for every field of a format."""
    fields: dict[str, Any] = {}
    for name, field in instruction(config, opcode):
        if name in ARRAYS:
            fields[name] = [rng.randrange(limit) for limit in limits(config, name)]
        elif name == "row":
            fields[name] = rng.randrange(config.data_rows)
        elif name not in ("opcode", "padding"):
            fields[name] = rng.getrandbits(field.width)
    return fields


def encode(config: DpuConfig, opcode: Opcode, fields: dict[str, Any], rng: Any) -> int:
    """The instruction's bits, with anything above them: what follows in the memory."""
    layout = instruction(config, opcode)
    bits = layout.const({**fields, "opcode": opcode}).as_value().value
    return bits | rng.getrandbits(64) << layout.size


def illegal_flags(ctx: Any, decoder: Decoder, config: DpuConfig) -> dict[str, int]:
    """The kinds of illegality that are flagged, and where."""
    names = illegal_layout(config).members
    found = {name: ctx.get(getattr(decoder.illegal, name)) for name in names}
    return {name: flags for name, flags in found.items() if flags}


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.digest[:6])
def test_every_field_of_every_format(config):
    decoder = Decoder(config)
    rng = seeded()

    async def process(ctx):
        control = decoder.control
        word = len(decoder.instruction)
        for opcode in opcodes(config) * 20:
            fields = random_fields(config, opcode, rng)
            ctx.set(decoder.valid, 1)
            ctx.set(decoder.instruction, encode(config, opcode, fields, rng) & (1 << word) - 1)
            for kind, members in KINDS.items():
                assert ctx.get(getattr(control, kind)) == (opcode in members)
            for name in ("read_enable", "valid_reset", "load_enable"):
                assert ctx.get(getattr(control, name)) == fields.get(name, 0), name
            stored = fields.get("store_enable", 0)
            if opcode == Opcode.STORE:
                stored = fields["read_enable"]
            assert ctx.get(control.store_enable) == stored
            for name in ("read_address", "source", "operation"):
                if name in fields:
                    assert [ctx.get(element) for element in control[name]] == fields[name]
            if "row" in fields:
                assert ctx.get(control.row) == fields["row"]
            written = fields.get("write_source", [0] * config.banks)
            if opcode == Opcode.COPY:
                mask = fields["write_enable"]
                written = [WRITE_COPY * (mask >> bank & 1) for bank in range(config.banks)]
            assert [ctx.get(source) for source in control.write_source] == written
            assert illegal_flags(ctx, decoder, config) == {}

    simulate_combinational(decoder, process)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.digest[:6])
def test_nothing_happens_without_a_valid_instruction(config):
    decoder = Decoder(config)
    rng = seeded()

    async def process(ctx):
        ctx.set(decoder.valid, 0)
        for opcode in range(16):
            for _ in range(5):
                bits = rng.getrandbits(len(decoder.instruction)) & ~15 | opcode
                ctx.set(decoder.instruction, bits)
                for name in (*KINDS, "read_enable", "valid_reset", "load_enable", "store_enable"):
                    assert ctx.get(getattr(decoder.control, name)) == 0
                assert ctx.get(decoder.control.write_source.as_value()) == 0
                assert illegal_flags(ctx, decoder, config) == {}

    simulate_combinational(decoder, process)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.digest[:6])
def test_unknown_opcodes_are_illegal_and_do_nothing(config):
    decoder = Decoder(config)
    rng = seeded()

    async def process(ctx):
        ctx.set(decoder.valid, 1)
        for opcode in range(16):
            if opcode in opcodes(config):
                continue
            ctx.set(decoder.instruction, rng.getrandbits(len(decoder.instruction)) & ~15 | opcode)
            for name in (*KINDS, "read_enable", "valid_reset", "load_enable", "store_enable"):
                assert ctx.get(getattr(decoder.control, name)) == 0
            assert illegal_flags(ctx, decoder, config) == {"opcode": 1}

    simulate_combinational(decoder, process)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.digest[:6])
def test_every_element_that_is_out_of_range_is_flagged(config):
    decoder = Decoder(config)
    rng = seeded()

    async def process(ctx):
        ctx.set(decoder.valid, 1)
        tried = 0
        for opcode in opcodes(config):
            layout = instruction(config, opcode)
            for name in (*ARRAYS, "row"):
                if name not in layout.members:
                    continue
                bits = layout[name].width // len(limits(config, name))
                for place, limit in enumerate(limits(config, name)):
                    fields = random_fields(config, opcode, rng)
                    if limit == 1 << bits:
                        continue
                    wrong = rng.choice([limit, (1 << bits) - 1])
                    if name == "row":
                        fields[name] = wrong
                    else:
                        fields[name][place] = wrong
                    fields["read_enable"] = fields["valid_reset"] = 0
                    expected = {name: 1 << place}
                    if name == "read_address":
                        # Nobody minds an address that isn't used.
                        use = rng.choice(["read_enable", "valid_reset", None])
                        if use:
                            fields[use] = 1 << place
                        expected = expected if use else {}
                    known = {key: value for key, value in fields.items() if key in layout.members}
                    ctx.set(decoder.instruction, encode(config, opcode, known, rng) % (1 << word))
                    assert illegal_flags(ctx, decoder, config) == expected
                    tried += 1
        assert tried >= config.pes

    word = len(decoder.instruction)
    simulate_combinational(decoder, process)
