"""Random PyTorch modules with masks on the model: fused and not, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.fuse.regions import regions_of
from gnarl.sw.workloads.einsum.pytorch.sources import module_program
from tests.support.errors import noted
from tests.support.random_masked_modules import random_masked_module
from tests.support.sam.models import compiled, golden, run

SEEDS = range(100, 114)


def _single(value: torch.Tensor) -> torch.Tensor:
    return value.float() if value.is_floating_point() else value


@pytest.mark.parametrize("part", [0, 1])
def test_masked_modules(part: int) -> None:
    ran = 0
    for seed in SEEDS[part::2]:
        case = random_masked_module(seed)
        inputs = tuple(map(_single, case.inputs))
        model = module_program(case.module.float(), inputs, None)
        expected = golden(model.program, model.data)
        for fuse in ("none", "full"):
            whole = [each.statements for each in regions_of(model.program, fuse)]
            with noted(f"{seed}, {fuse}: {case.traits}"):
                try:
                    program = compiled(model.program, model.data, [] if fuse == "none" else whole)
                except WorkloadError as error:
                    assert "\n" not in str(error)
                    continue
                done = run(program, model.data, is_timed=seed % 4 == 0)
                for name, got in done.got.items():
                    np.testing.assert_array_equal(got, done.meant[name])
                for name, each in expected.items():
                    np.testing.assert_array_equal(done.got[name], each)
                ran += 1
    assert ran >= 0.75 * len(SEEDS)
