"""Runs modules of all levels in xDSL's interpreter, on arrays of NumPy."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter, InterpreterFunctions
from xdsl.interpreters.scf import ScfFunctions

from gnarl.sw.compiler.nests.functions import arrays_of, function_of
from gnarl.sw.compiler.tmu.dialects.dlc import AccessOp, CaseOp
from gnarl.sw.compiler.tmu.interpreting.access import AccessUnit
from gnarl.sw.compiler.tmu.interpreting.arithmetic import Arithmetic
from gnarl.sw.compiler.tmu.interpreting.execute import ExecuteUnit
from gnarl.sw.compiler.tmu.interpreting.memory import Memory, Words
from gnarl.sw.compiler.tmu.interpreting.merging import Merging
from gnarl.sw.compiler.tmu.interpreting.queues import Queues, SharedMemory
from gnarl.sw.compiler.tmu.interpreting.streams import Streams, Variables
from gnarl.sw.compiler.tmu.text import level_of


def interpret(module: ModuleOp, arrays: Mapping[str, np.ndarray], lanes: int) -> None:
    """Runs the module's function on ``arrays``, by name, in place.

    ``lanes``: of the configuration, which modules of DLC do not say. Of DLC, the access unit runs
    first, then the execute unit; queues have room for all. Raises xDSL's ``InterpretationError``
    for operations of other levels, indices beyond arrays, and queues that do not end up empty.
    """
    function = function_of(module)
    arguments = {name: arrays[name] for name in arrays_of(function).values()}
    interpreter = Interpreter(module)
    _register(interpreter, Arithmetic(), Memory(), Variables(), ScfFunctions())
    with np.errstate(all="ignore"):
        if level_of(module) == "DLC":
            _run_units(module, interpreter, arguments, lanes)
            return
        streams = Streams()
        _register(interpreter, Words(arguments), Merging(), streams)
        interpreter.run_ssacfg_region(function.body, tuple(arguments.values()))
        streams.check_empty()


def _register(interpreter: Interpreter, *functions: InterpreterFunctions) -> None:
    for each in functions:
        interpreter.register_implementations(each)


def _run_units(
    module: ModuleOp, interpreter: Interpreter, arrays: Mapping[str, np.ndarray], lanes: int
) -> None:
    memory, queues, function = SharedMemory(arrays), Queues(), function_of(module)
    tokens = [each.token.data for each in function.walk() if isinstance(each, CaseOp)]
    _register(interpreter, AccessUnit(memory, queues, tokens, lanes), ExecuteUnit(queues))
    _register(interpreter, Words(memory.arrays))
    (access,) = (each for each in module.body.block.ops if isinstance(each, AccessOp))
    interpreter.run_op(access)
    interpreter.set_values(zip(function.body.block.args, memory.arrays.values(), strict=True))
    interpreter.run_op(function)
    for name, array in arrays.items():
        array[...] = memory.arrays[name]
