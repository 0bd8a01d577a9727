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
    compile
        ``compile(workload, config, *, seed=0, progress=None, …) -> Program``.
    schema
        ``sw.runtime.sections.Schema`` of its programs.
    model
        ``model(config, image, wanted) -> MachineRun``, an interpreter of the binary.
    runtime
        module of what devices and reports need besides, the golden model among it. It has the
        functions of ``sw.runtime.dpu``.
    """

    name: str
    configuration: str
    build: str
    memory_map: str
    compile: str
    schema: str
    model: str
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
        compile="sw.compiler.dpu:compile",
        schema="sw.runtime.dpu_sections:DPU_SCHEMA",
        model="sw.runtime.dpu:model",
        runtime="sw.runtime.dpu",
    ),
}
