"""DLC, the execute unit: cases that take words from the queue."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import func
from xdsl.interpreter import Interpreter, InterpreterFunctions, impl, register_impls

from gnarl.sw.compiler.nests.dialects.slc import PopOp
from gnarl.sw.compiler.tmu.dialects.dlc import END, START, CaseOp
from gnarl.sw.compiler.tmu.interpreting.queues import Queues


@register_impls
class ExecuteUnit(InterpreterFunctions):
    """Runs the case ``start``, and that of each token up to ``end``, if there is such a case."""

    def __init__(self, queues: Queues) -> None:
        self._queues = queues

    @impl(func.FuncOp)
    def run(self, interpreter: Interpreter, operation: func.FuncOp, args: Any) -> Any:
        cases = {
            each.token.data: each for each in operation.body.block.ops if isinstance(each, CaseOp)
        }
        token = START
        interpreter.run_op(cases[token])
        while token != END and END in cases:
            token = self._queues.next_token()
            interpreter.run_op(cases[token])
        self._queues.check_empty()
        return ()

    @impl(CaseOp)
    def case(self, interpreter: Interpreter, operation: CaseOp, args: Any) -> Any:
        interpreter.run_ssacfg_region(operation.body, ())
        return ()

    @impl(PopOp)
    def pop(self, interpreter: Interpreter, operation: PopOp, args: Any) -> Any:
        return (self._queues.take(operation.value.type),)
