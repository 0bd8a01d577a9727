"""Steps of a program on values, before rows are allocated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hw.sram_compute.operations import Operation
from sw.compiler.sram_compute.lower.movement import Movement


@dataclass(eq=False)
class Value:
    """Some rows of all tiles, perhaps at different places at different times.

    rows
        how many.
    constant
        the bits that they have on all bitlines: then nothing has to be kept.
    array
        whose value it is at the beginning: then main memory has it.
    """

    rows: int
    constant: int | None = None
    array: str | None = None


@dataclass(frozen=True, eq=False)
class Calculate:
    """``operation`` at width ``n`` (0: none). ``operands``: of bases A, B, E, none for those that
    it lacks. ``may_replace``: whether the result may have an operand's rows; ``offset``: the row
    within the operand or the result at which it begins."""

    operation: Operation
    n: int
    result: Value
    a: Value | None = None
    b: Value | None = None
    e: Value | None = None
    may_replace: bool = True
    a_offset: int = 0
    result_offset: int = 0
    is_partial: bool = False
    """Whether the result keeps its other rows."""


@dataclass(frozen=True, eq=False)
class Move:
    """Some cells of ``operand`` to ``result``, whose others stay as they are."""

    operand: Value
    result: Value
    movements: tuple[Movement, ...]
    is_partial: bool
    """Whether the result's other cells are of use."""


@dataclass(frozen=True, eq=False)
class Fill:
    """All cells of ``result`` become ``bits``."""

    result: Value
    bits: int


@dataclass(frozen=True, eq=False)
class Keep:
    """Main memory's ``array`` becomes ``operand``."""

    operand: Value
    array: str


Step: TypeAlias = Calculate | Move | Fill | Keep


def reads(step: Step) -> list[Value]:
    """Values that must have been made before."""
    match step:
        case Calculate():
            found = [each for each in (step.a, step.b, step.e) if each is not None]
            return found + [step.result] * step.is_partial
        case Move(operand, result, _, is_partial):
            return [operand, result] if is_partial else [operand]
        case Keep(operand):
            return [operand]
    return []


def result_of(step: Step) -> Value | None:
    return None if isinstance(step, Keep) else step.result
