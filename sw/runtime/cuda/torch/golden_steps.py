"""Optimizers' steps on the CPU by the golden model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnarl.sw.compiler.cuda.optimizers import Adam, Optimizer, PartialRowWiseAdam
from gnarl.sw.runtime.cuda.optimizer_steps import TableStep
from gnarl.sw.runtime.cuda.torch.extra import to_array, torch
from gnarl.sw.runtime.cuda.torch.gradients import backward_program
from gnarl.sw.runtime.cuda.torch.keyed_inputs import type_name
from gnarl.sw.runtime.cuda.torch.lookup import Lookup


def has_golden_steps(optimizer: Optimizer) -> bool:
    """Whether the golden model takes its steps: they may change rows whose gradients are zero, or
    are random."""
    adam = isinstance(optimizer, Adam | PartialRowWiseAdam)
    return adam or optimizer.weight_decay > 0 or optimizer.stochastic_rounding


def take_golden_steps(
    lookup: Lookup,
    optimizer: Optimizer,
    gradients: Mapping[int, torch.Tensor],
    states: Mapping[int, Sequence[torch.Tensor]],
    numbers: torch.Tensor,
) -> None:
    """Takes the steps of the wanted tables, in the rows that were looked up.

    gradients, states
        by the tables' numbers.
    numbers
        as ``step_numbers`` has them.
    """
    wanted = tuple(number in gradients for number in range(len(lookup.tables)))
    type = type_name(lookup.values.dtype)
    program = backward_program(lookup.program, wanted, type, False)
    looked_up = _rows_looked_up(lookup)
    for kind, tables in program.tables_of_class.items():
        for number in tables:
            table, rows = lookup.tables[number], looked_up[number]
            own = [state[rows] for state in states[number]]
            step = TableStep(
                to_array(table[rows].float()),
                to_array(gradients[number][rows]),
                [to_array(state) for state in own],
                to_array(numbers.reshape(-1)),
                kind,
            )
            taken = step.taken(optimizer)
            if table.dtype == torch.float16:
                taken = step.rounded(optimizer, taken, number, to_array(rows))
            table[rows] = torch.from_numpy(taken).to(table.dtype)
            for state, changed in zip(states[number], own, strict=True):
                state[rows] = changed


def _rows_looked_up(lookup: Lookup) -> dict[int, torch.Tensor]:
    """By the tables' numbers: int64 [rows], each once."""
    indices: dict[int, list[torch.Tensor]] = {}
    for _, number, (values, _, _) in lookup.features():
        indices.setdefault(number, []).append(values[values >= 0].long())
    return {number: torch.cat(each).unique() for number, each in indices.items()}
