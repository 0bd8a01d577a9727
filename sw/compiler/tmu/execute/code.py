"""Instructions of the execute unit for the cases of a DLC program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue

from hw.lib.errors import CapacityError
from hw.tmu.config import TmuConfig
from hw.tmu.execute_isa import Instruction, Opcode
from sw.compiler.tmu.dialects.dlc import END, START, CaseOp
from sw.compiler.tmu.dialects.slc import GetOp, SetOp
from sw.compiler.tmu.execute.locations import kind_of
from sw.compiler.tmu.execute.loops import Bodies


@dataclass(frozen=True)
class ExecuteCode:
    """``instructions``, and the addresses of ``tokens`` by their names."""

    instructions: list[Instruction]
    tokens: dict[str, int]


def execute_code(module: ModuleOp, config: TmuConfig, bases: Mapping[str, int]) -> ExecuteCode:
    """The program: ``start``, then a case behind the other, each ending in the next token.

    ``bases``: the first word of each array. Raises ``CapacityError`` where registers or the
    program's memory do not suffice, ``WorkloadError`` for operations that the unit lacks.
    """
    function = next(each for each in module.body.block.ops if isinstance(each, func.FuncOp))
    names = function.attributes["names"]
    assert isinstance(names, StringAttr)
    arrays: dict[SSAValue, int] = {
        argument: bases[name]
        for argument, name in zip(function.body.block.args, names.data.split(","), strict=True)
    }
    cases = [each for each in function.body.block.ops if isinstance(each, CaseOp)]
    writer = _Writer(config, arrays)
    writer.keep_variables(cases)
    tokens = {}
    for case in cases:
        tokens[case.token.data] = len(writer.code)
        writer.case(case)
    del tokens[START]
    if len(writer.code) > config.program_words:
        raise CapacityError(
            f"program_words = {config.program_words}: must be at least {len(writer.code)}"
        )
    return ExecuteCode(writer.code, tokens)


class _Writer(Bodies):
    """Writes one case after the other."""

    def keep_variables(self, cases: Iterable[CaseOp]) -> None:
        """Gives a register to each variable of any case."""
        for case in cases:
            for each in case.walk():
                if isinstance(each, GetOp | SetOp) and each.variable.data not in self._variables:
                    type = each.value.type
                    self._variables[each.variable.data] = self._new(kind_of(type))

    def case(self, case: CaseOp) -> None:
        """Registers of its own are free again behind it."""
        before = {kind: list(free) for kind, free in self._free.items()}
        self._values = {}
        self._uses = {
            result: sum(1 for _ in result.uses)
            for each in case.walk()
            for result in (*each.results, *(a for r in each.regions for a in r.block.args))
        }
        self._pops = []
        self._folded = set()
        self._addresses = {}
        if case.token.data == START:
            for variable in self._variables.values():
                if variable.kind == "v":
                    self._emit(Instruction(Opcode.ADD, True, variable.register))
        self._operations(case.body.block.ops)
        for pop in list(self._pops):
            self._take(pop)
        opcode = Opcode.HALT if case.token.data == END else Opcode.JUMP_TOKEN
        self._emit(Instruction(opcode))
        self._free = before
