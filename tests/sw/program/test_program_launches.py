"""Programs of several launches: their hardware, and tensors passed from one to the next."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.dpu.config import DpuConfig
from gnarl.hw.lib.errors import ProgramError
from gnarl.sw.program.program import Launch, Program
from gnarl.sw.program.schema import Schema, Section
from gnarl.sw.program.tensor_spec import Ragged, TensorSpec
from tests.support.dpu.example_program import CONFIG, equal

SCALE = Schema([Section("factors", np.float64, ("factors",))])

X = TensorSpec("x", ("n",), "float32")
Y = TensorSpec("y", ("n",), "float32")
Z = TensorSpec("z", ("n",), "float32")


def launch(name: str, reads: TensorSpec, writes: TensorSpec, **change: Any) -> Launch:
    own = Launch(
        name,
        (reads,),
        (writes,),
        {"n": 1},
        {"factors": np.ones(2)},
        CONFIG.to_dict(),
        CONFIG.digest,
    )
    return replace(own, **change)


def chain(*launches: Launch, outputs: tuple[TensorSpec, ...] = (Z,)) -> Program:
    config, digest = CONFIG.to_dict(), CONFIG.digest
    return Program("dpu", config, digest, "chain", (X,), outputs, launches, SCALE)


def test_launches_come_back_with_their_own_hardware(tmp_path: Path):
    other = DpuConfig(depth=2, banks=16)
    second = launch("two", Y, Z, config=other.to_dict(), digest=other.digest)
    saved = chain(launch("one", X, Y), second)
    saved.save(tmp_path / "chain.npz")
    assert equal(Program.load(tmp_path / "chain.npz", lambda target: SCALE), saved)
    assert saved.statistics == {"n": 2}
    with np.load(tmp_path / "chain.npz") as archive:
        assert set(archive) - {"manifest.json"} == {"launch0/factors", "launch1/factors"}


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (chain(), "launches: must be at least one"),
        (
            chain(launch("one", Y, Z), launch("two", X, Y)),
            "launch 0 (one): input y: no earlier launch writes it",
        ),
        (chain(launch("one", X, Y)), "output z: no launch writes it"),
        (
            chain(launch("one", X, Y), launch("one", Y, Z)),
            "launch 1 (one): name: an earlier launch has it",
        ),
        (
            chain(launch("one", X, Y), launch("two", replace(Y, type="int64"), Z)),
            "launch 1 (two): tensor y: specified twice, and differently",
        ),
        (
            chain(launch("one", X, Z), outputs=(replace(Z, shape=(3,)),)),
            "tensor z: specified twice, and differently",
        ),
        (
            chain(launch("one", X, Y), launch("two", Y, Z, sections={})),
            "launch 1 (two): section 'factors' is missing",
        ),
        (
            chain(launch("one", X, replace(Z, storage=Ragged("begins"))), outputs=()),
            "tensor z: no offsets begins",
        ),
    ],
)
def test_launches_that_do_not_fit_are_refused(wrong: Program, text: str):
    with pytest.raises(ProgramError, match=f"^{re.escape(text)}$"):
        wrong.check()


def test_hardware_of_a_launch_whose_digest_is_wrong_is_named():
    wrong = chain(launch("one", X, Y), launch("two", Y, Z, digest="0" * 64))
    assert wrong.differences(CONFIG) == [f"digest is {'0' * 64}, must be {CONFIG.digest}"]
