"""Inputs of which only the share of zeros is known: entries at random places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.workloads.einsum.rearranged_check import inputs_of_hosts
from gnarl.sw.workloads.tensor.tensor import DENSE_LIMIT, Tensor


def random_inputs(model: SamModel, sparsities: Mapping[str, float]) -> dict[str, Any]:
    """The model's inputs, of which those with a sparsity have entries at random places; masks and
    pruned weights are parameters.

    Every coordinate of such a tensor is as likely to have one as any other; the same for every
    call. Raises ``WorkloadError`` for a tensor that is no input of random numbers, and a sparsity
    that is none.
    """
    of_hosts = inputs_of_hosts(model.program.statements)
    own_names = [name for name in model.program.inputs if name not in of_hosts]
    names = [model.names.get(name, name) for name in own_names]
    found: dict[str, Any] = {**model.inputs}
    for number, (name, sparsity) in enumerate(sparsities.items()):
        own = model.own_name(name)
        if own in of_hosts:
            raise WorkloadError(
                f"--estimate {name}: the host makes a tensor of its numbers ({of_hosts[own]}), "
                "which random ones would not suit: must be left out"
            )
        if own not in own_names:
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
    # NumPy has no coordinates of a scalar.
    coordinates = np.stack(np.unravel_index(places, (1, *shape)), axis=1).astype(np.int64)[:, 1:]
    return Tensor(shape, coordinates, rng.uniform(0.5, 1.0, len(places)))
