"""Einsum programs of PyTorch modules, against what PyTorch computes in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from gnarl.sw.golden.einsum import reference
from gnarl.sw.workloads.einsum.pytorch.model import Model
from gnarl.sw.workloads.einsum.pytorch.sources import Formats, module_program
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program, program_text


def require_same(module: torch.nn.Module, *inputs: Any, formats: Formats | None = None) -> Model:
    """The model of a module, which means what PyTorch computes."""
    module = module.double().eval()
    inputs = tuple(_double(each) for each in inputs)
    model = module_program(module, inputs, formats)
    with torch.no_grad():
        results = tree_leaves(module(*inputs))
    require_values(model, [_dense(each) for each in results])
    text = program_text(model.program)
    assert parse_program(text, model.program.name) == model.program
    return model


def require_same_in_types(module: torch.nn.Module, *inputs: torch.Tensor) -> None:
    """The model of a module means what PyTorch computes in the types of the inputs, within 1 %."""
    model = module_program(module.eval(), inputs)
    with torch.no_grad():
        results = tree_leaves(module(*inputs))
    require_values(model, [_dense(each) for each in results], 1e-2)


def require_values(model: Model, wanted: Sequence[np.ndarray], within: float = 1e-11) -> None:
    """Results are these, and all shapes those that the program implies."""
    inputs = {name: each.shape for name, each in model.data.items()}
    assert program_shapes(model.program, inputs).tensors == model.shapes
    found = reference(model.program, model.data)
    for name, array in zip(model.program.results, wanted, strict=True):
        assert model.result_shapes[name] == array.shape
        assert [*filter(_is_long, model.shapes[name])] == [*filter(_is_long, array.shape)]
        coordinates, values = found[name]
        dense = np.zeros((1, *model.shapes[name]))
        dense[(np.zeros(len(values), int), *coordinates.T)] = values
        np.testing.assert_allclose(
            dense.reshape(array.shape), array, rtol=within, atol=within / 100
        )


def lines(model: Model) -> list[str]:
    """The statements as text."""
    statements, _, _ = program_text(model.program).partition(" -")
    return statements.split("; ")


def layers(model: Model) -> dict[str, str]:
    """The layer of each statement, by its tensor."""
    return {each.name: each.layer for each in model.program.statements}


def _is_long(size: int) -> bool:
    return size != 1


def _double(value: Any) -> Any:
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.double() if is_float else value


def _dense(tensor: torch.Tensor) -> np.ndarray:
    strided = tensor if tensor.layout is torch.strided else tensor.to_dense()
    array: np.ndarray = strided.double().numpy()
    return array
