"""Einsum programs of PyTorch modules, against what PyTorch computes in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from gnarl.sw.workloads.einsum.pytorch.model import Model
from gnarl.sw.workloads.einsum.pytorch.sources import Formats, module_program
from tests.support.einsum.values import evaluate, text_of


def require_same(module: torch.nn.Module, *inputs: Any, formats: Formats | None = None) -> Model:
    """The model of a module that evaluates to what PyTorch computes."""
    module = module.double().eval()
    inputs = tuple(_double(each) for each in inputs)
    model = module_program(module, inputs, formats)
    with torch.no_grad():
        wanted = [each.numpy() for each in tree_leaves(module(*inputs))]
    require_values(model, wanted)
    return model


def require_values(model: Model, wanted: list[np.ndarray]) -> None:
    """The results of a model are these."""
    values = evaluate(model.program, {name: each.to_dense() for name, each in model.data.items()})
    assert {name: each.shape for name, each in values.items()} == dict(model.shapes)
    for name, array in zip(model.program.results, wanted, strict=True):
        assert model.result_shapes[name] == array.shape
        assert [s for s in values[name].shape if s != 1] == [s for s in array.shape if s != 1]
        found = values[name].reshape(array.shape)
        np.testing.assert_allclose(found, array, rtol=1e-11, atol=1e-13)


def lines(model: Model) -> list[str]:
    """The statements as text."""
    return [f"{each.result} = {text_of(each.expression)}" for each in model.program.statements]


def layers(model: Model) -> dict[str, str]:
    """The layer of each statement, by its tensor."""
    return {each.name: each.layer for each in model.program.statements}


def _double(value: Any) -> Any:
    is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value.double() if is_float else value
