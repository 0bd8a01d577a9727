"""What a viewer of waves shows first: signals of a trace, in groups."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from gnarl.sw.runtime.machine.waves.trace_names import Variable

Radix = Literal["bin", "dec", "hex"]

_TRACE_SCOPE = "TOP"
"""Verilator's own scope, around the outermost module."""

_CORE = "core"
"""The instance beside the host port that has everything else, see ``gnarl.hw.lib.machine``."""

_CLOCK: Mapping[str, Radix] = {"clk": "bin", "rst": "bin"}

_HOST_STREAMS = ("host__request", "host__response")

_RUN: Mapping[str, Radix] = {
    "start": "bin",
    "stop": "bin",
    "clear": "bin",
    "busy": "bin",
    "done": "bin",
    "cause": "dec",
    "detail": "hex",
    "cycles": "dec",
}

_STREAM: Mapping[str, Radix] = {"__valid": "bin", "__ready": "bin", "__payload": "hex"}


@dataclass(frozen=True)
class Unit:
    """Instances below the core that a view has a group for.

    scope
        the path to them, in which ``*`` is any text: ``datapath.block_*``.
    bits, numbers, words
        names of the signals that are shown, in binary, decimal and hexadecimal.
    streams
        names of the streams that are shown, in which ``*`` is any text.
    """

    scope: str
    bits: Sequence[str] = ()
    numbers: Sequence[str] = ()
    words: Sequence[str] = ()
    streams: Sequence[str] = ()

    @property
    def radices(self) -> dict[str, Radix]:
        """By name, of all signals but those of streams."""
        names: list[tuple[Radix, Sequence[str]]] = [
            ("bin", self.bits),
            ("dec", self.numbers),
            ("hex", self.words),
        ]
        return {name: radix for radix, each in names for name in each}


@dataclass(frozen=True)
class Shown:
    """A signal of a view, with its radix."""

    variable: Variable
    radix: Radix


@dataclass(frozen=True)
class Group:
    """Signals that a view shows together. ``name`` is of letters, digits and ``_``."""

    name: str
    shown: Sequence[Shown]


_Scopes: TypeAlias = Mapping[tuple[str, ...], Mapping[str, Variable]]


def view(variables: Sequence[Variable], units: Sequence[Unit]) -> list[Group]:
    """Clock and reset, the host port, the run's state, and ``units``; groups that are empty, and
    signals that a trace doesn't have, are left out."""
    scopes = _by_scope(variables)
    top = next(scope for scope in scopes if len(scope) == 2 and scope[0] == _TRACE_SCOPE)
    core = (*top, _CORE) if (*top, _CORE) in scopes else top
    host = [shown for name in _HOST_STREAMS for shown in _stream(scopes[top], name)]
    found = [
        Group("clock", list(_named(scopes[top], _CLOCK))),
        Group("host_port", host),
        Group("run", list(_named(scopes[core], _RUN))),
        *(group for unit in units for group in _unit_groups(scopes, core, unit)),
    ]
    return [group for group in found if group.shown]


def _by_scope(variables: Sequence[Variable]) -> _Scopes:
    """Signals by scope and name, without parts of others."""
    scopes: dict[tuple[str, ...], dict[str, Variable]] = {}
    for each in variables:
        if "." not in each.name and "[" not in each.name:
            scopes.setdefault(each.scope, {})[each.name] = each
    return scopes


def _unit_groups(scopes: _Scopes, core: tuple[str, ...], unit: Unit) -> Iterator[Group]:
    depth = len(core) + unit.scope.count(".") + 1
    for scope, signals in scopes.items():
        path = tuple(_plain(name) for name in scope[len(core) :])
        if len(scope) == depth and scope[: len(core)] == core:
            if fnmatchcase(".".join(path), unit.scope):
                streams = (shown for name in unit.streams for shown in _streams(signals, name))
                shown = [*_named(signals, unit.radices), *streams]
                yield Group("_".join(path), shown)


def _plain(instance: str) -> str:
    """The name that a generator gave, without the number that tells it from a signal's."""
    return re.sub(r"\$\d+$", "", instance)


def _named(signals: Mapping[str, Variable], radices: Mapping[str, Radix]) -> Iterator[Shown]:
    return (Shown(signals[name], radix) for name, radix in radices.items() if name in signals)


def _streams(signals: Mapping[str, Variable], pattern: str) -> Iterator[Shown]:
    for name in signals:
        stream = name.removesuffix("__valid")
        if stream != name and f"{stream}__ready" in signals and fnmatchcase(stream, pattern):
            yield from _stream(signals, stream)


def _stream(signals: Mapping[str, Variable], name: str) -> Iterator[Shown]:
    return _named(signals, {name + part: radix for part, radix in _STREAM.items()})
