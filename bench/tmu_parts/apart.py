"""A TMU whose units run one after the other, each with the other ideal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import Any

import numpy as np
from amaranth.hdl import Module

from bench.tmu_parts.tape import Tape
from gnarl.hw.lib.encoding.execute_assembly import assemble
from gnarl.hw.lib.execute.execute_unit import ExecuteUnit
from gnarl.hw.lib.machine.machine import Machine
from gnarl.hw.tmu.access.access_unit import AccessUnit
from gnarl.hw.tmu.config import TmuConfig
from gnarl.hw.tmu.core import TmuCore
from gnarl.hw.tmu.queues.data_queue import DataQueue
from gnarl.hw.tmu.queues.token_queue import TokenQueue
from gnarl.sw.program.program import Program
from gnarl.sw.program.rows import Rows
from gnarl.sw.program.tensor_spec import Array
from gnarl.sw.runtime.machine.host_machine import HostJob
from gnarl.sw.runtime.target.generator import Generator
from gnarl.sw.runtime.tmu.image import Operands
from gnarl.sw.runtime.tmu.target import TARGET, TmuExecutor

WORDS, TOKENS = 1 << 21, 1 << 20
"""Words and tokens that can be recorded: RM3 at level 0 has 3 x 2**19 words and 2**19 + 1
tokens."""


class ApartCore(TmuCore):
    """Records what the access unit puts into the queues, which always have room, in a run with an
    access program; in a run without one, the queues are filled with that again, by a row and a
    token a cycle.

    What a vector that lies in two rows of the data queue takes is so the execute unit's.
    Source: Ember, figure 14.
    """

    def _connect_queues(
        self,
        m: Module,
        access: AccessUnit,
        execute: ExecuteUnit,
        queue: DataQueue,
        tokens: TokenQueue,
    ) -> None:
        config = self._config
        super()._connect_queues(m, access, execute, queue, tokens)
        m.submodules.word_tape = word_tape = Tape(WORDS, config.lanes, 32)
        m.submodules.token_tape = token_tape = Tape(TOKENS, 1, config.pc_bits)
        records = self._is_in_use(access)
        for tape in (word_tape, token_tape):
            m.d.comb += [
                tape.erase.eq(self.start & records),
                tape.rewind.eq(~self.busy | records),
            ]
        m.d.comb += [
            access.room.eq(config.data_words),
            word_tape.put.eq(access.put),
            word_tape.put_vector.eq(access.put_vector),
            word_tape.put_data.eq(access.put_data),
            access.token_room.eq(config.control_tokens),
            access.token.ready.eq(1),
            token_tape.put.eq(access.token.valid),
            token_tape.put_data[0].eq(access.token.payload),
            word_tape.played.ready.eq(queue.room >= config.lanes),
            queue.put.eq(word_tape.played.valid & word_tape.played.ready),
            queue.put_vector.eq(1),
            queue.put_data.eq(word_tape.played.payload),
            token_tape.played.ready.eq(tokens.i.ready),
            tokens.i.valid.eq(token_tape.played.valid),
            tokens.i.payload.eq(token_tape.played.payload[0]),
        ]


class Unit(Enum):
    """The unit whose program is run; the other has none."""

    ACCESS = "access"
    EXECUTE = "execute"


class ApartGenerator(Generator[TmuConfig]):
    """Generates TMUs with an ``ApartCore``."""

    def build(self, config: TmuConfig) -> Machine:
        return Machine(ApartCore(config), config.digest)


class ApartExecutor(TmuExecutor):
    """Executes on a TMU with an ``ApartCore``; runs have the option ``unit``."""

    generator = ApartGenerator()

    def job(
        self, program: Program, launch: Any, tensors: Mapping[str, Array], **options: Any
    ) -> HostJob[Operands]:
        job = super().job(program, launch, tensors)
        image = dict(job.image)
        if options["unit"] == Unit.ACCESS:
            image["instructions"] = Rows(np.arange(1), assemble("halt").words())
        else:
            layers = image["layers"]
            image["layers"] = Rows(layers.numbers, np.zeros_like(layers.words))
        return replace(job, image=image)


APART = replace(TARGET, executor=ApartExecutor())
