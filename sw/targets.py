"""The table of targets. The command line, devices and benchmarks go through it.

A new target is one folder in ``hw/``, one in ``sw/compiler/``, one golden model, and one line here
(or, from another package, ``TARGETS["name"] = Target(…)``). Nothing is imported before it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol


class Configuration(Protocol):
    """What every target's configuration class offers, ``hw.dpu.config.DpuConfig`` for one.

    It is a frozen dataclass with a default for every field, whose constructor raises
    ``ConfigError`` with a line ``field = value: what is allowed`` for each bad field.
    """

    target: str

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Configuration:
        """From a configuration file's fields; unknown ones raise ``ConfigError``."""

    def to_dict(self) -> dict[str, Any]:
        """All fields, JSON's types only."""

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of target and fields."""


@dataclass(frozen=True)
class Target:
    """Where the parts of a target are, each as ``"module:name"``.

    configuration
        the class of its configurations, see ``Configuration``.
    build
        ``build(config) -> wiring.Component``, the top of the hardware with the common host port.
    memory_map
        ``memory_map(config) -> hw.lib.host.MemoryMap``, the windows behind the host port.
    load
        ``load(source, seed=0) -> workload`` from a file, or from what the target's users have.
    compile
        ``compile(workload, config, *, seed=0, …) -> Program``.
    runtime
        module with ``image``, ``results``, ``model`` and ``golden``: see ``sw.runtime.dpu``.
    """

    name: str
    configuration: str
    build: str
    memory_map: str
    load: str
    compile: str
    runtime: str

    def part(self, name: str) -> Any:
        """The object that field ``name`` refers to, imported now."""
        module, _, attribute = getattr(self, name).partition(":")
        found = import_module(module)
        return getattr(found, attribute) if attribute else found


TARGETS: dict[str, Target] = {
    "dpu": Target(
        name="dpu",
        configuration="hw.dpu.config:DpuConfig",
        build="hw.dpu.top:build",
        memory_map="hw.dpu.memory_map:memory_map",
        load="sw.compiler.frontend.workload:load",
        compile="sw.compiler.dpu:compile",
        runtime="sw.runtime.dpu",
    ),
}
