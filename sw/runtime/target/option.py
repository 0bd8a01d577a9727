"""Options that targets add to commands."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True)
class Choice:
    """One of some texts."""

    texts: Sequence[str]


@dataclass(frozen=True)
class WholeNumber:
    """A whole number in a range, which may have no upper end."""

    least: int
    most: int | None = None


class FilePath(enum.Enum):
    """The path of a file."""

    READ = enum.auto()
    WRITTEN = enum.auto()


@dataclass(frozen=True)
class TargetOption:
    """An option of a target's own, on the command line and in Python.

    flag
        as the command line has it: ``--batch``.
    commands
        those that have it, of compile, run and tune.
    help
        a sentence; commands show default and targets behind it.
    name
        in Python; by default that of the flag, with ``_`` for each ``-``.
    type
        of its value.
    is_flag
        whether it takes no value; given, it is ``flag_value``.
    """

    flag: str
    name: str = ""
    _: KW_ONLY
    commands: tuple[str, ...]
    help: str
    type: type[str] | type[int] | Choice | WholeNumber | FilePath = str
    default: str | int | None = None
    metavar: str | None = None
    is_flag: bool = False
    flag_value: bool = True

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.flag.lstrip("-").replace("-", "_"))


def reassociate_option(help: str) -> TargetOption:
    """``--no-reassociate``, ``reassociate`` of a compiler."""
    return TargetOption(
        "--no-reassociate",
        "reassociate",
        commands=("compile",),
        help=help,
        is_flag=True,
        flag_value=False,
    )
