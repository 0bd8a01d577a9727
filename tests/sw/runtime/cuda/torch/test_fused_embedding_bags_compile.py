"""The operator as PyTorch's compilers see it: its contract, ``torch.compile``, ``torch.export``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gnarl.hw.lib.errors import ProgramError  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from gnarl.sw.runtime.cuda.torch.operator_program import operator_program  # noqa: E402
from gnarl.sw.workloads.embedding.data import (  # noqa: E402
    synthesise_batch,
    synthesise_tables,
)
from gnarl.sw.workloads.embedding.model import (  # noqa: E402
    EmbeddingModel,
    Feature,
    PoolingFactors,
)
from tests.support.cuda.torch_embedding import JaggedInputs, from_array, fused, inputs_of  # noqa: E402

FEW = PoolingFactors(mean=4, std=2)
MODEL = EmbeddingModel(
    "m",
    (
        Feature("a", 30, 8, factors=FEW),
        Feature("b", 20, 4, "mean", "float16", weighted=True, factors=FEW),
        Feature("c", 10, 16, "max", output_type="bfloat16", factors=FEW),
    ),
)


def trained() -> FusedEmbeddingBags:
    tables = [torch.nn.Parameter(from_array(table)) for table in synthesise_tables(MODEL)]
    return fused(tables, MODEL.features)


def batch(size: int) -> tuple[dict[str, Any], dict[str, Any], None, dict[str, Any]]:
    """Arguments of ``forward``."""
    values, offsets, weights = inputs_of(MODEL, synthesise_batch(MODEL, size, seed=size))
    return values, offsets, None, weights


def operands(module: FusedEmbeddingBags, size: int) -> tuple[Any, ...]:
    """Arguments of the operator."""
    packed = module._pack(*batch(size))
    assert packed.weights is not None
    packed.weights.requires_grad_()
    tables = list(module.parameters())
    return tables, packed.values, packed.offsets, packed.weights, module._program


@pytest.mark.parametrize("size", [0, 5])
def test_the_operator_and_its_backward_keep_pytorchs_contract(size: int) -> None:
    given = operands(trained(), size)
    torch.library.opcheck(torch.ops.gnarl.fused_embedding_bags.default, given)
    outputs = torch.ops.gnarl.fused_embedding_bags(*given)
    tables = [table.detach() for table in given[0]]
    backward = (
        [torch.ones_like(output) for output in outputs],
        tables,
        *given[1:3],
        given[3].detach(),
        *given[4:],
        [True, False, True],
        True,
    )
    torch.library.opcheck(torch.ops.gnarl.fused_embedding_bags_backward.default, backward)


def losses(
    module: Callable[..., dict[str, Any]], own: FusedEmbeddingBags, size: int
) -> list[torch.Tensor]:
    """Outputs and gradients of tables."""
    outputs = list(module(*batch(size)).values())
    own.zero_grad()
    torch.stack([output.float().square().sum() for output in outputs]).sum().backward()
    return [*outputs, *(parameter.grad for parameter in own.parameters())]


def require_equal(found: list[torch.Tensor], right: list[torch.Tensor]) -> None:
    assert len(found) == len(right)
    for one, other in zip(found, right, strict=True):
        assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
def test_compiled_modules_give_the_same_outputs_and_gradients_in_one_graph(backend: str) -> None:
    module = trained()
    compiled = torch.compile(module, backend=backend, fullgraph=True, dynamic=True)
    for size in (6, 9, 2):
        right = [one.clone() for one in losses(module, module, size)]
        require_equal(losses(compiled, module, size), right)


def test_keyed_jagged_tensors_pass_through_compiled_modules() -> None:
    tables = [torch.nn.Parameter(torch.randn(10, 4)) for _ in range(2)]
    module = fused(tables, [Feature("x", 10, 4), Feature("y", 10, 4, "mean")])
    jagged = JaggedInputs.of({"y": [[1], [2, 3]], "z": [[], []], "x": [[4, 4], []]})
    found = torch.compile(module, backend="aot_eager")(jagged)
    right = module(jagged)
    assert found.keys() == right.keys() == ["x", "y"]
    assert torch.equal(found.values(), right.values())


def exported() -> torch.export.ExportedProgram:
    arguments = batch(6)
    size = torch.export.Dim("size", min=3)
    dynamic = torch.export.Dim.DYNAMIC
    return torch.export.export(
        trained().requires_grad_(False),
        arguments,
        dynamic_shapes=(
            {name: {0: dynamic} for name in arguments[0]},
            {name: {0: size} for name in arguments[1]},
            None,
            {name: {0: dynamic} for name in arguments[3]},
        ),
    )


def test_exported_modules_take_batches_of_any_size() -> None:
    program, module = exported().module(), trained()
    for size in (2, 6, 31):
        found, right = program(*batch(size)), module(*batch(size))
        require_equal(list(found.values()), list(right.values()))


_OTHER_PROCESS = """
import sys, torch
import gnarl.sw.runtime.cuda.torch.operator
program = torch.export.load(sys.argv[1]).module()
arguments, expected = torch.load(sys.argv[2])
found = program(*arguments)
assert list(found) == list(expected)
assert all(torch.equal(found[name], expected[name]) for name in expected)
"""


def test_saved_programs_run_in_a_process_that_never_saw_the_module(tmp_path: Path) -> None:
    torch.export.save(exported(), tmp_path / "program.pt2")
    outputs = {name: output.detach().clone() for name, output in trained()(*batch(11)).items()}
    torch.save((batch(11), outputs), tmp_path / "batch.pt")
    command = [
        sys.executable,
        "-c",
        _OTHER_PROCESS,
        tmp_path / "program.pt2",
        tmp_path / "batch.pt",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_operators_text_says_everything_but_pooling_factors() -> None:
    module = trained()
    again = operator_program(module._program)
    assert again.text == module._program
    assert again.schedules == module.schedules
    assert again.table_of_feature == (0, 1, 2)
    assert [f.kind for f in again.model.features] == [f.kind for f in MODEL.features]
    assert [f.rows for f in again.model.features] == [30, 20, 10]
    assert again.program.kernel.source.count("using Code") == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
        ("{}", "KeyError: 'kinds'"),
    ],
)
def test_other_text_is_refused(text: str, reason: str) -> None:
    whole = f"text of an embedding operator: cannot be understood: {reason}"
    with pytest.raises(ProgramError, match=f"^{re.escape(whole)}$"):
        operator_program(text)


def with_schedule(parameter: str, value: object) -> Callable[[Any], None]:
    def change(fields: Any) -> None:
        fields["schedules"]["schedules"][0]["parameters"][parameter] = value

    return change


CHANGES: dict[str, tuple[Callable[[Any], None], str]] = {
    "code for a number": (
        with_schedule("vector", "4> {}; int evil = system(0)"),
        "schedules[0]: parameters of ",
    ),
    "code for a name of a template": (
        lambda fields: fields["schedules"]["schedules"][0].update(template="os"),
        "schedules[0]: template = 'os': must be one of ",
    ),
    "code for an architecture": (
        lambda fields: fields["schedules"].update(arch="sm_90 -include x"),
        "arch = 'sm_90 -include x': must be one of ",
    ),
    "code for threads": (
        lambda fields: fields["schedules"].update(block_threads="128; int x"),
        "block_threads = '128; int x': must be one of ",
    ),
    "code for an occupancy": (
        lambda fields: fields["schedules"].update(blocks_per_sm="1; int x"),
        "blocks_per_sm: must be a whole number",
    ),
    "lines in the model's name": (
        lambda fields: fields.update(name="a\nint x;"),
        "model 'a\\nint x;': must be named by printable characters",
    ),
    "a table before the first": (
        lambda fields: fields["features"][0].__setitem__(4, -1),
        "table = -1: must be a whole number",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_texts_that_are_not_of_a_program_are_refused(name: str) -> None:
    change, text = CHANGES[name]
    fields = json.loads(trained()._program)
    change(fields)
    with pytest.raises(ProgramError) as caught:
        operator_program(json.dumps(fields))
    assert text in str(caught.value)
