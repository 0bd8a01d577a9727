"""What optimizers keep, as tensors: states of tables, and the count of iterations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.optimizers import (
    SGD,
    Adagrad,
    Adam,
    Optimizer,
    PartialRowWiseAdam,
    counts_iterations,
)
from gnarl.sw.runtime.cuda.torch.extra import torch
from gnarl.sw.runtime.cuda.torch.keyed_inputs import type_name


def new_states(optimizer: Optimizer, table: torch.Tensor) -> dict[str, torch.Tensor]:
    """What the optimizer keeps of a table, by name: float32 zeroes, none of them if the table
    requires no gradients."""
    return {
        name: torch.zeros(
            shape if table.requires_grad else (0,), dtype=torch.float32, device=table.device
        )
        for name, shape in _shapes(optimizer, table).items()
    }


def _shapes(optimizer: Optimizer, table: torch.Tensor) -> dict[str, torch.Size]:
    """The shape of each state of a table, by name."""
    rows = table.shape[:1]
    if isinstance(optimizer, SGD):
        return {}
    if isinstance(optimizer, Adam):
        return {"momentum1": table.shape, "momentum2": table.shape}
    if isinstance(optimizer, PartialRowWiseAdam):
        return {"momentum1": table.shape, "momentum2": rows}
    return {"state": table.shape if isinstance(optimizer, Adagrad) else rows}


def new_iteration(optimizer: Optimizer, device: torch.device) -> torch.Tensor | None:
    """The count of iterations, int64 [], of optimizers that have one."""
    if not counts_iterations(optimizer):
        return None
    return torch.zeros((), dtype=torch.int64, device=device)


class OptimizerState:
    """The states that ``gnarl::step_embedding_bags`` is given, checked.

    of_tables
        all states of each wanted table.
    states
        of all tables, as many of each.
    iteration
        int64 [], of optimizers that count them.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        tables: Sequence[torch.Tensor],
        states: Sequence[torch.Tensor],
        wanted: Sequence[bool],
    ) -> None:
        """Raises ``WorkloadError`` for states that are not those of wanted tables."""
        each, counted = len(_shapes(optimizer, tables[0])), counts_iterations(optimizer)
        if len(states) != each * len(tables) + counted:
            raise WorkloadError(
                f"states: there are {len(states)}: must be {each * len(tables) + counted}"
            )
        self.iteration: torch.Tensor | None = None
        if counted:
            *states, self.iteration = states
            check_tensor("iter", self.iteration, torch.Size(), tables[0].device, torch.int64)
        self.states = states
        self.of_tables: dict[int, list[torch.Tensor]] = {}
        for number, (table, want) in enumerate(zip(tables, wanted, strict=True)):
            if want:
                own = list(states[number * each : (number + 1) * each])
                for (name, shape), state in zip(
                    _shapes(optimizer, table).items(), own, strict=True
                ):
                    check_tensor(f"{name} of table {number}", state, shape, table.device)
                self.of_tables[number] = own

    def next_numbers(self, optimizer: Optimizer, learning_rate: torch.Tensor) -> torch.Tensor:
        """Counts an iteration, and gives what kernels take: float32, as ``step_numbers`` has it."""
        if self.iteration is None:
            return learning_rate
        self.iteration += 1
        one = torch.ones_like(learning_rate)
        corrections = [one, one]
        if isinstance(optimizer, Adam | PartialRowWiseAdam):
            count = self.iteration.double()
            betas = optimizer.beta1, optimizer.beta2
            corrections = [(1 - torch.pow(beta, count)).float() for beta in betas]
        numbers = torch.stack([learning_rate, *corrections])
        if not optimizer.stochastic_rounding:
            return numbers
        halves = np.array([optimizer.seed], np.uint64).view(np.int32).tolist()
        seeds = [numbers.new_full((1,), half, dtype=torch.int32) for half in halves]
        words = [numbers.view(torch.int32), self.iteration.int()[None], *seeds]
        return torch.cat(words).view(torch.float32)


def check_tensor(
    name: str,
    tensor: torch.Tensor,
    shape: torch.Size,
    device: torch.device,
    type: torch.dtype = torch.float32,
) -> None:
    """Raises ``WorkloadError`` for a tensor that is not of that type, shape and device."""
    if tensor.dtype != type or tensor.shape != shape or tensor.device != device:
        raise WorkloadError(
            f"{name}: is {type_name(tensor.dtype)} {list(tensor.shape)} on {tensor.device}: "
            f"must be {type_name(type)} {list(shape)} on {device}"
        )
