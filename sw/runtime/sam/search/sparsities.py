"""Inputs of which only shares are known, of zeros and of coordinates that meet: entries at random
places.

Source: FuseFlow, section 7, "fusion heuristic", which takes sparsities and intersection rates.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.workloads.einsum.rearranged_check import inputs_of_hosts
from gnarl.sw.workloads.tensor.tensor import DENSE_LIMIT, Tensor

MEETS = "*"
"""Between the names of two inputs: ``adj*x``."""


def random_inputs(model: SamModel, sparsities: Mapping[str, float]) -> dict[str, Any]:
    """The model's inputs, of which those with a sparsity have entries at random places; masks and
    pruned weights are parameters.

    Every coordinate of such a tensor is as likely to have one as any other; the same for every
    call. A rate of ``a*b`` says at which share of the coordinates of an index that both have ``b``
    has entries at all. Raises ``WorkloadError`` for a tensor that is no input of random numbers, a
    number that is no share, and a rate that the entries of ``b`` do not allow.
    """
    shares = {name: share for name, share in sparsities.items() if MEETS not in name}
    rates = {name: share for name, share in sparsities.items() if MEETS in name}
    for name, share in sparsities.items():
        if not 0 <= share <= 1:
            kind = "coordinates that meet" if name in rates else "zeros"
            raise WorkloadError(f"--estimate {name}={share}: must be a share of {kind} from 0 to 1")
    own = {_own_name(model, name): name for name in shares}
    met = [_met(model, name, rate, own) for name, rate in rates.items()]
    found: dict[str, Any] = {**model.inputs}
    for number, (tensor, name) in enumerate(own.items()):
        rng = np.random.default_rng(number)
        allowed = {mode: rate for other, mode, rate in met if other == tensor}
        found[tensor] = _random(name, model.shapes[tensor], shares[name], allowed, rng)
    return found


def _own_name(model: SamModel, name: str) -> str:
    """The program's name of an input. Raises ``WorkloadError`` for what is none that may be
    random."""
    of_hosts = inputs_of_hosts(model.program.statements)
    inputs = [each for each in model.program.inputs if each not in of_hosts]
    own = model.own_name(name)
    if own in of_hosts:
        raise WorkloadError(
            f"--estimate {name}: the host makes a tensor of its numbers ({of_hosts[own]}), "
            "which random ones would not suit: must be left out"
        )
    if own not in inputs:
        names = ", ".join(model.names.get(each, each) for each in inputs)
        raise WorkloadError(f"--estimate {name}: no input; the model has {names}")
    return own


def _met(
    model: SamModel, name: str, rate: float, known: Mapping[str, str]
) -> tuple[str, int, float]:
    """The second tensor of ``a*b``, the mode by which a statement joins it with the first, and the
    rate."""
    names = [each.strip() for each in name.split(MEETS, 1)]
    one, other = (_own_name(model, each) for each in names)
    if other not in known:
        raise WorkloadError(f"--estimate {name}: must come with a share of zeros of {names[1]}")
    for statement in model.program.einsums:
        accesses = [each for each in statement.operands if each.tensor == other]
        beside = {i for each in statement.operands if each.tensor == one for i in each.indices}
        for access in accesses:
            for mode, index in enumerate(access.indices):
                if index in beside:
                    return other, mode, rate
    raise WorkloadError(f"--estimate {name}: no statement has both at one index")


def _random(
    name: str,
    shape: tuple[int, ...],
    sparsity: float,
    allowed: Mapping[int, float],
    rng: np.random.Generator,
) -> Tensor:
    """Entries anywhere; with ``allowed`` only at a share of the coordinates of modes."""
    size = int(np.prod(shape, dtype=object))
    if size > DENSE_LIMIT:
        raise WorkloadError(
            f"--estimate {name}: {size:,} elements: must be at most {DENSE_LIMIT:,}"
        )
    count = round(size * (1 - sparsity))
    kept = [np.arange(each) for each in shape]
    for mode, rate in allowed.items():
        kept[mode] = np.sort(rng.choice(shape[mode], round(rate * shape[mode]), replace=False))
    places = int(np.prod([len(each) for each in kept], dtype=object))
    if count > places:
        least = ceil(1000 * count / size) / 1000
        raise WorkloadError(
            f"--estimate {name}: {count:,} entries at rates of coordinates that leave {places:,} "
            f"places: rates together must be at least {least:g}"
        )
    chosen = np.sort(rng.choice(places, count, replace=False))
    # NumPy has no coordinates of a scalar.
    at = np.unravel_index(chosen, (1, *map(len, kept)))[1:]
    columns = [each[own] for each, own in zip(kept, at, strict=True)]
    coordinates = np.stack([np.zeros(count, np.int64), *columns], axis=1)[:, 1:].astype(np.int64)
    return Tensor(shape, coordinates, rng.uniform(0.5, 1.0, count))
