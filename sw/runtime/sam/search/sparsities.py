"""Inputs of which only the share of zeros is known: entries at random places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.workloads.tensor.tensor import DENSE_LIMIT, Tensor


def random_inputs(model: SamModel, sparsities: Mapping[str, float]) -> dict[str, Any]:
    """The model's inputs, of which those with a sparsity have entries at random places.

    Every coordinate of such a tensor is as likely to have one as any other; the same for every
    call. Raises ``WorkloadError`` for a tensor that is no input, and a sparsity that is none.
    """
    names = [model.names.get(name, name) for name in model.program.inputs]
    found: dict[str, Any] = {**model.inputs}
    for number, (name, sparsity) in enumerate(sparsities.items()):
        own = model.own_name(name)
        if own not in model.program.inputs:
            raise WorkloadError(f"--estimate {name}: no input; the model has {', '.join(names)}")
        if not 0 <= sparsity <= 1:
            raise WorkloadError(
                f"--estimate {name}={sparsity}: must be a share of zeros from 0 to 1"
            )
        found[own] = _random(name, model.shapes[own], sparsity, np.random.default_rng(number))
    return found


def _random(name: str, shape: tuple[int, ...], sparsity: float, rng: np.random.Generator) -> Tensor:
    size = int(np.prod(shape, dtype=object))
    if size > DENSE_LIMIT:
        raise WorkloadError(
            f"--estimate {name}: {size:,} elements: must be at most {DENSE_LIMIT:,}"
        )
    places = np.sort(rng.choice(size, round(size * (1 - sparsity)), replace=False))
    coordinates = np.stack(np.unravel_index(places, shape), axis=1).astype(np.int64)
    return Tensor(shape, coordinates, rng.uniform(0.5, 1.0, len(places)))
