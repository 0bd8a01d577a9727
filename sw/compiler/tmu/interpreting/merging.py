"""Loops over merged fibers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls

from gnarl.sw.compiler.nests.dialects.fiber import MergeOp


def merged(
    fibers: Sequence[npt.NDArray[np.int32]], is_union: bool
) -> Iterator[tuple[int, list[int], list[bool]]]:
    """Merges ``fibers``, which ascend: for each coordinate that all have, or of a union any has,
    yields itself, each fiber's position, and which have it; the position of one that lacks it is
    that of its next larger coordinate."""
    places = [0] * len(fibers)
    while True:
        left = [fiber[at] for fiber, at in zip(fibers, places, strict=True) if at < len(fiber)]
        if not left or (len(left) < len(fibers) and not is_union):
            return
        smallest = min(left)
        has = [
            at < len(fiber) and fiber[at] == smallest
            for fiber, at in zip(fibers, places, strict=True)
        ]
        if is_union or all(has):
            yield smallest, list(places), has
        places = [at + there for at, there in zip(places, has, strict=True)]


def fibers_of(args: Any) -> tuple[list[np.ndarray], list[int]]:
    """The coordinates and the lower bound of each fiber, from the operands of a merge."""
    count = len(args) // 3
    lowers = [int(each) for each in args[count : 2 * count]]
    bounds = zip(args, lowers, args[2 * count :], strict=False)
    return [array[lower : int(upper)] for array, lower, upper in bounds], lowers


@register_impls
class Merging(InterpreterFunctions):
    """Interprets merges in SCF."""

    @impl(MergeOp)
    def merge(self, interpreter: Interpreter, operation: MergeOp, args: Any) -> Any:
        fibers, lowers = fibers_of(args)
        for coordinate, places, has in merged(fibers, operation.is_union):
            positions = [lower + place for lower, place in zip(lowers, places, strict=True)]
            present = map(np.bool_, has) if operation.is_union else ()
            values = map(np.int32, [coordinate, *positions])
            interpreter.run_ssacfg_region(operation.body, (*values, *present))
        return ()
