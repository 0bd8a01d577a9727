"""Statements with blocks of values: what their graphs compute is what they mean, bit for bit."""

from __future__ import annotations

import random
from collections import Counter

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import noted
from tests.support.sam.corner_statements import Corner
from tests.support.sam.expressions import make
from tests.sw.compiler.sam.test_corner_statements import check

REFUSALS = (
    "; a sparse accumulator holds at most 2 indices, put ",
    " below a dense level that lies below level ",
    "must be a multiple of ",
    "must be whole blocks",
    "must have one index with blocks",
    "must have its blocks along the same dimension",
    "values of ",
    "has no value along it",
    "no value of the region lies along index",
    " is not supported",
    "parallelize(",
)


def drawn(seed: int) -> tuple[str, dict[str, Tensor], str]:
    """A random statement with blocks along one or two of its indices, and lanes at times."""
    rng = random.Random(seed)
    case = make(rng.randint(1, 4), rng.randint(1, 5), seed, rng.random() < 0.3)
    order = list(parse(case.text).order)
    along = rng.sample(order, min(len(order), rng.choice((1, 1, 1, 2))))
    text = case.text + "".join(f" -s=block({index},{rng.choice((2, 4, 8))})" for index in along)
    if rng.random() < 0.3 and order:
        text += f" -s=parallelize({rng.choice(order)},{rng.choice((2, 3, 4))})"
    return text, case.tensors, rng.choice(("float32", "float32", "bfloat16", "fixed16.8"))


def has_run(seed: int, counts: Counter[str]) -> None:
    text, tensors, format = drawn(seed)
    with noted(f"{seed}: {text} in {format}"):
        try:
            check(Corner(text, tensors, format, seed % 2 == 0, frozenset(), ()))
        except GnarlError as error:
            reasons = [each for each in REFUSALS if each in str(error)]
            if not reasons:
                raise
            counts[reasons[0]] += 1
        else:
            counts["runs"] += 1


def test_random() -> None:
    counts = Counter[str]()
    for seed in range(300):
        has_run(seed, counts)
    print(counts)
    assert counts["runs"] > 100
