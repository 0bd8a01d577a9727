"""What the configurations of all targets have in common."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

from gnarl.hw.lib.errors import ConfigError, Violation, quoted
from gnarl.hw.lib.formats import FORMAT_NAMES, parse_format


@dataclass(frozen=True)
class TargetConfig:
    """Every parameter of a target's hardware: a frozen dataclass with a default for every field.

    A subclass names its ``target``, and its ``violations`` say what is wrong with its fields. The
    constructor raises ``ConfigError`` if there are any. ``compiling``: fields for the compiler
    alone, with all of whose values hardware and digest are the same. ``computing``: how names begin
    of components whose memory computes where it is, ``compute_bits`` of it.
    """

    target: ClassVar[str]
    compiling: ClassVar[tuple[str, ...]] = ()
    computing: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if found := self.violations():
            raise ConfigError(found)

    def violations(self) -> list[Violation]:
        """A line ``field = value: what is allowed`` for each bad field. By default none is bad."""
        return []

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Reads a configuration file's fields; unknown ones raise ``ConfigError``."""
        known = [field.name for field in fields(cls)]
        unknown = [
            Violation(name, f" = {quoted(value)}: no such field; there are {', '.join(known)}")
            for name, value in values.items()
            if name not in known
        ]
        if unknown:
            raise ConfigError(unknown)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """All fields, JSON's types only."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def compute_bits(self) -> int:
        """0 for machines that have none."""
        return 0

    @cached_property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of target and hardware: names what a program is made for."""
        kept = {name: each for name, each in self.to_dict().items() if name not in self.compiling}
        text = json.dumps({"target": self.target, **kept}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def number_violations(config: Any, limits: Iterable[tuple[str, int, int]]) -> list[Violation]:
    """Violations of fields that must be whole numbers. ``limits``: name, lowest and highest
    value."""
    found = []
    for name, low, high in limits:
        value = getattr(config, name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            problem = f" = {quoted(value)}: must be a whole number from {low} to {high}"
            found.append(Violation(name, problem))
    return found


def flag_violations(config: Any, names: Iterable[str]) -> list[Violation]:
    """Violations of fields that must be true or false."""
    return [
        Violation(name, f" = {quoted(getattr(config, name))}: must be true or false")
        for name in names
        if not isinstance(getattr(config, name), bool)
    ]


def choice_violations(config: Any, name: str, choices: Iterable[str]) -> list[Violation]:
    """Violations of a field that must be one of some texts."""
    value = getattr(config, name)
    choices = list(choices)
    if value in choices:
        return []
    return [Violation(name, f" = {quoted(value)}: must be one of {', '.join(choices)}")]


def format_violations(config: Any, name: str) -> list[Violation]:
    """Violations of a field that must name a number format."""
    value = getattr(config, name)
    try:
        parse_format(value)
    except (ValueError, TypeError):
        return [Violation(name, f" = {quoted(value)}: must be one of {FORMAT_NAMES}")]
    return []
