"""Whether a board's device has room for a design."""

from __future__ import annotations

from collections.abc import Sequence

from gnarl.hw.fpga.boards import Board
from gnarl.hw.fpga.family import RESOURCE_NAMES, Resources
from gnarl.sw.runtime.fpga.tool_run import FpgaError
from gnarl.sw.runtime.target.configuration import NamedConfiguration


def shortages(used: Resources, available: Resources) -> list[str]:
    """Names of the resources that are too few."""
    there = available.to_dict()
    return [name for name, count in used.to_dict().items() if count > there[name]]


def check_capacity(hardware: NamedConfiguration, board: Board, used: Resources) -> None:
    """Raises ``FpgaError`` that says by how much a design is too large, and what to reduce."""
    short = shortages(used, board.resources)
    if not short:
        return
    needed, there = used.to_dict(), board.resources.to_dict()
    parts = ", ".join(
        f"{needed[name]:,} {RESOURCE_NAMES[name]} where there are {there[name]:,} "
        f"({needed[name] - there[name]:,} too many)"
        for name in short
    )
    fields = _fields(hardware, short)
    reduce = ", ".join(f"{name} = {getattr(hardware.config, name)}" for name in fields)
    hint = f": must be less, by a smaller {reduce}" if reduce else ": must be less"
    raise FpgaError(f"{hardware.name} is too large for {board.name}: {parts}{hint}")


def _fields(hardware: NamedConfiguration, short: Sequence[str]) -> list[str]:
    """Fields of the configuration that what is short depends on, each once."""
    generator = hardware.target.executor.generator
    by_resource = generator.sizes if generator is not None else {}
    return list(dict.fromkeys(field for name in short for field in by_resource.get(name, ())))
