"""Embedding models and batches with corners, in the emulation: bits are the golden model's."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gnarl.sw.compiler.cuda.config import WORKERS
from gnarl.sw.compiler.cuda.schedule import MAPPINGS
from gnarl.sw.golden.embedding import pool, what_is_pooled
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.embedding.model import Feature
from tests.support.cuda.corner_models import (
    BATCH_KINDS,
    MODEL_KINDS,
    Corner,
    corner,
    corner_model,
)
from tests.support.errors import noted


def is_exact(feature: Feature, case: Corner) -> bool:
    """Whether no sum is rounded: products with the least numbers may be."""
    return not feature.weighted or not case.kinds & {"subnormal", "subnormal weights"}


def check(seed: int, batches: range) -> None:
    """A model of its own kernel, and batches with tables of their own."""
    model, _ = corner_model(seed)
    devices = [
        Device(load_configuration("cuda_sm90", [f"workers={each}"]), "emulation")
        for each in WORKERS
    ]
    programs = [device.compile(model) for device in devices]
    for number in batches:
        case = corner(model, 1000 * seed + number)
        turn = number % (1 + len(MAPPINGS))  # warps, which map nothing, and each mapping of blocks
        device, program = devices[turn > 0], programs[turn > 0]
        mapping = MAPPINGS[turn - 1] if turn else None
        with np.errstate(all="ignore"), noted(f"{seed}, {number}: {model}, {sorted(case.kinds)}"):
            result = device.run(program, (case.tables, case.batch), mapping=mapping)
            assert device.verify(result).difference == ""
            pooled = what_is_pooled(model, case.batch)
            for feature, table, inputs in zip(
                model.features, case.tables, pooled.features, strict=True
            ):
                elements, output = feature.elements(table), result.outputs[feature.name]
                if is_exact(feature, case):
                    wanted = pool(elements, inputs, feature.pooling, feature.output_type)
                    # bfloat16's NaN are not found equal.
                    found = np.asarray(output).astype(np.float32)
                    np.testing.assert_array_equal(found, wanted.astype(np.float32))


def test_a_model_with_corners() -> None:
    check(0, range(8))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 60))
def test_models_with_corners(seed: int) -> None:
    check(seed, range(60))


def test_every_kind_of_corner_is_drawn() -> None:
    """Each in 2 of 100 at least; no kind has no name."""
    counts = Counter(kind for seed in range(200) for kind in corner_model(seed)[1])
    assert set(counts) == set(MODEL_KINDS)
    assert min(counts.values()) >= 4
    models = [corner_model(seed)[0] for seed in range(200)]
    counts = Counter(kind for seed in range(200) for kind in corner(models[seed], seed).kinds)
    assert set(counts) == set(BATCH_KINDS)
    assert min(counts.values()) >= 4
