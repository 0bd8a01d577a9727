"""What hosts do between launches: they make tensors of others, whose elements they move."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gnarl.sw.program.tensor_spec import Array, TensorSpec


@dataclass(frozen=True)
class HostStep:
    """One tensor that a host makes as soon as there are those that it takes.

    inputs, output
        inputs of the program, what launches write or what steps make; and what it makes.
    text
        how, in the target's notation.
    """

    inputs: tuple[TensorSpec, ...]
    output: TensorSpec
    text: str


Made = Callable[[HostStep, Mapping[str, Array]], Array]
"""What a step makes of its inputs by name."""


def with_made(
    steps: Iterable[HostStep], known: Mapping[str, Array], make: Made
) -> dict[str, Array]:
    """The tensors that are known, with what steps make of them; a step may take what one before it
    makes."""
    tensors = dict(known)
    for step in steps:
        names = [spec.name for spec in step.inputs]
        if step.output.name not in tensors and all(name in tensors for name in names):
            tensors[step.output.name] = make(step, {name: tensors[name] for name in names})
    return tensors
