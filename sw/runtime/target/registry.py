"""The table of targets. Commands, devices and benchmarks go through it.

A new target is one folder in ``hw/``, one in ``sw/compiler/``, one in ``sw/runtime/``, one golden
model and one line here. Another package adds one by an entry point of group ``gnarl.targets``,
whose name is the target's and whose object is a ``gnarl.sw.runtime.target.contract.Target``.
Nothing is imported before it is used: what the project's own targets add to the command line is in
modules of their own, so that commands know all of it without all compilers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from gnarl.hw.lib.errors import ConfigError, one_line
from gnarl.sw.runtime.target.command_line import CommandLine
from gnarl.sw.runtime.target.contract import AnyTarget, Target
from gnarl.sw.runtime.target.old_names import new_names

GROUP = "gnarl.targets"

_OWN = {
    "dpu": "gnarl.sw.runtime.dpu.target:TARGET",
    "sam": "gnarl.sw.runtime.sam.target:TARGET",
    "tmu": "gnarl.sw.runtime.tmu.target:TARGET",
    "sram": "gnarl.sw.runtime.sram_compute.target:TARGET",
    "cuda": "gnarl.sw.runtime.cuda.target:TARGET",
}
_OWN_COMMAND_LINES = {
    "dpu": "gnarl.sw.runtime.dpu.command_line:COMMAND_LINE",
    "sam": "gnarl.sw.runtime.sam.command_line:COMMAND_LINE",
    "tmu": "gnarl.sw.runtime.tmu.command_line:COMMAND_LINE",
    "sram": "gnarl.sw.runtime.sram_compute.command_line:COMMAND_LINE",
    "cuda": "gnarl.sw.runtime.cuda.command_line:COMMAND_LINE",
}


class _Targets(Mapping[str, AnyTarget]):
    """Targets by name, the project's own first."""

    def __getitem__(self, name: str) -> AnyTarget:
        return _load(installed()[name])

    def __contains__(self, name: object) -> bool:
        return name in installed()

    def __iter__(self) -> Iterator[str]:
        return iter(installed())

    def __len__(self) -> int:
        return len(installed())


TARGETS = _Targets()


def others() -> tuple[dict[str, AnyTarget], list[ConfigError]]:
    """Targets of other packages, by name; and why some of them cannot be loaded."""
    loaded: dict[str, AnyTarget] = {}
    errors = []
    for name in TARGETS:
        try:
            if name not in _OWN:
                loaded[name] = TARGETS[name]
        except ConfigError as error:
            errors.append(error)
    return loaded, errors


def loaded() -> dict[str, AnyTarget]:
    """All targets that can be loaded, by name."""
    return {name: TARGETS[name] for name in _OWN} | others()[0]


def command_lines() -> dict[str, CommandLine]:
    """What all targets that can be loaded add to commands, by target."""
    own = {
        name: EntryPoint(name, value, GROUP).load() for name, value in _OWN_COMMAND_LINES.items()
    }
    return own | {name: target.command_line for name, target in others()[0].items()}


@cache
def installed() -> dict[str, EntryPoint]:
    """The entry point of each target."""
    own = {name: EntryPoint(name, value, GROUP) for name, value in _OWN.items()}
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    return {**own, **{name: found[name] for name in sorted(found) if name not in own}}


@cache
def _load(entry: EntryPoint) -> AnyTarget:
    """Raises ``ConfigError`` for an entry point of another package that does not hold a target."""
    try:
        target = entry.load()
    except (Exception, SystemExit) as error:  # whatever goes wrong as another package is imported
        if entry.name in _OWN and not isinstance(error, ModuleNotFoundError):
            raise
        reason = new_names(error) or f"{type(error).__name__}: {one_line(error)}"
        raise ConfigError(
            [f"target {entry.name}: {entry.value} cannot be loaded: {reason}"]
        ) from error
    if not isinstance(target, Target) or target.name != entry.name:
        raise ConfigError(
            [f"target {entry.name}: {entry.value} is {target!r:.80}: must be a Target of that name"]
        )
    return target
