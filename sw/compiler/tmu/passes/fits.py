"""Whether a configuration has all that a module needs."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from gnarl.hw.lib.errors import CapacityError
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.functions import arrays_of, function_of
from gnarl.sw.compiler.tmu.execute.code import execute_code
from gnarl.sw.compiler.tmu.passes.lower import lower_access


def fits(module: ModuleOp, config: TmuConfig) -> bool:
    """Layers, queues, registers and the program's memory, for a module of SLC. As long as the rest
    of the compilation."""
    bases = dict.fromkeys(arrays_of(function_of(module)).values(), 0)
    try:
        execute_code(lower_access(module, config), config, bases)
    except CapacityError:
        return False
    return True


def has_layers(module: ModuleOp, config: TmuConfig) -> bool:
    """Whether the access unit has room for a module of SLC: layers, streams and queues.
    O(operations)."""
    try:
        lower_access(module, config)
    except CapacityError:
        return False
    return True
