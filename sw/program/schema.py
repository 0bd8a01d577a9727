"""Arrays of a program file: what each target's program consists of, and checks of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnarl.hw.lib.errors import ProgramError, quoted
from gnarl.sw.program.host_step import HostStep
from gnarl.sw.program.launch import Launch


@dataclass(frozen=True)
class Section:
    """One array.

    dtype
        its NumPy type.
    shape
        a name for each dimension; equal names are equal lengths, and ``name+1`` is one more.
    low
        its least value.
    limit
        numbers, names of dimensions and names of configuration fields; every value is below their
        sum.
    """

    name: str
    dtype: type[np.generic]
    shape: tuple[str, ...]
    low: int | None = None
    limit: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class Schema:
    """The sections of one target's programs.

    ``check`` gets a launch whose sections agree with the list, and the configuration's fields with
    the lengths of all dimensions; it raises ``ProgramError`` for what the list cannot say.
    ``check_step`` does so for what the host does between launches; without it, there is none.
    ``statistics`` names the figures that reports need. ``sizes`` gives lengths of dimensions that
    the launch's tensors say.
    """

    sections: Sequence[Section]
    check: Callable[[Launch, Mapping[str, Any]], None] | None = None
    statistics: Sequence[str] = ()
    sizes: Callable[[Launch], Mapping[str, int]] | None = None
    check_step: Callable[[HostStep], None] | None = None


def check_sections(schema: Schema, launch: Launch) -> None:
    """Raises ``ProgramError`` naming the first section that disagrees with the schema."""
    sections = launch.sections
    for name in sections:
        if name not in [section.name for section in schema.sections]:
            raise ProgramError(f"unknown section {quoted(name)}")
    lengths = dict(schema.sizes(launch)) if schema.sizes is not None else {}
    for section in schema.sections:
        if section.name not in sections:
            raise ProgramError(f"section {quoted(section.name)} is missing")
        _check_shape(section, sections[section.name], lengths)
    quantities = {**launch.config, **lengths}
    for section in schema.sections:
        _check_range(section, sections[section.name], quantities)
    if schema.check is not None:
        schema.check(launch, quantities)


def _check_shape(section: Section, array: np.ndarray, lengths: dict[str, int]) -> None:
    """Checks an array's shape, and notes the lengths of dimensions that are seen for the first
    time."""
    expected = []
    for axis, dimension in enumerate(section.shape):
        name, _, more = dimension.partition("+")
        if name not in lengths and array.ndim > axis:
            lengths[name] = array.shape[axis] - int(more or 0)
        expected.append(lengths.get(name, 0) + int(more or 0))
    if array.dtype != section.dtype or list(array.shape) != expected:
        raise ProgramError(
            f"section {quoted(section.name)} is {array.dtype} {list(array.shape)}: "
            f"must be {np.dtype(section.dtype)} {expected}"
        )


def _check_range(section: Section, array: np.ndarray, quantities: Mapping[str, Any]) -> None:
    low = section.low
    high = None
    if section.limit:
        high = sum(_quantity(term, quantities) for term in section.limit) - 1
    wrong = np.zeros(array.shape, bool)
    if low is not None:
        wrong |= array < low
    if high is not None:
        wrong |= array > high
    if wrong.any():
        first = tuple(np.argwhere(wrong)[0].tolist())
        allowed = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ProgramError(
            f"{section.name}[{', '.join(map(str, first))}] = {array[first]}: must be {allowed}"
        )


def _quantity(term: str | int, quantities: Mapping[str, Any]) -> int:
    value = quantities.get(term) if isinstance(term, str) else term
    if not isinstance(value, int):
        raise ProgramError(
            f"{term} of the configuration is {quoted(value)}: must be a whole number"
        )
    return value
