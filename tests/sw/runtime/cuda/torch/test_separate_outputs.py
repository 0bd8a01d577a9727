"""Outputs that are differentiated one after the other, or changed in place, as those of a
``ModuleDict`` of ``nn.EmbeddingBag``."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gnarl.sw.compiler.cuda.optimizers import SGD  # noqa: E402
from gnarl.sw.runtime.cuda.torch.fused_embedding_bags import FusedEmbeddingBags  # noqa: E402
from gnarl.sw.workloads.embedding.model import Feature  # noqa: E402
from tests.support.cuda.torch_embedding import JaggedInputs, fused, fused_bags  # noqa: E402
from tests.support.errors import refused  # noqa: E402

MODES = {"a": "sum", "b": "mean", "c": "max", "d": "sum"}
WEIGHTED = ("d",)
PADDING = {"a": None, "b": 2, "c": None, "d": None}
VALUES = {
    "a": torch.tensor([1, 2, 2, 9]),
    "b": torch.tensor([2, 3, 4]),
    "c": torch.tensor([5, 6, 6, 7, 7]),
    "d": torch.tensor([1, 8, 8]),
}
OFFSETS = {
    "a": torch.tensor([0, 3, 4]),
    "b": torch.tensor([0, 2, 3]),
    "c": torch.tensor([0, 2, 5]),
    "d": torch.tensor([0, 1, 3]),
}
PATHS = ["cpu", "emulated", "sparse", "float64", "padding", "tails"]


class Pair:
    """A ``ModuleDict`` of bags and the module in place of it, with equal tables of their own."""

    def __init__(self, path: str) -> None:
        dtype = torch.float64 if path == "float64" else torch.float32
        modes = {name: mode for name, mode in MODES.items() if path != "sparse" or mode != "max"}
        self.bags = torch.nn.ModuleDict(
            {
                name: torch.nn.EmbeddingBag(
                    10,
                    4,
                    mode=mode,
                    include_last_offset=True,
                    sparse=path == "sparse",
                    padding_idx=PADDING[name] if path == "padding" else None,
                    dtype=dtype,
                )
                for name, mode in modes.items()
            }
        )
        copied = copy.deepcopy(self.bags)
        self.fused = fused_bags(copied, weighted=WEIGHTED, emulated=path == "emulated")
        self.tail = torch.tensor([0, 1]) if path == "tails" else VALUES["a"][:0]

    def by_bags(self, weights: torch.Tensor) -> dict[str, torch.Tensor]:
        return {
            name: bag(
                VALUES[name],
                OFFSETS[name],
                weights.to(bag.weight.dtype) if name in WEIGHTED else None,
            )
            for name, bag in self.bags.items()
        }

    def by_fused(self, weights: torch.Tensor) -> dict[str, torch.Tensor]:
        values = {name: torch.cat([VALUES[name], self.tail]) for name in self.bags}
        weights = torch.cat([weights, self.tail.float()])
        offsets = {name: OFFSETS[name] for name in self.bags}
        return self.fused(values, offsets, weights={"d": weights})

    def require_alike(self, use: Callable[[dict[str, torch.Tensor], Any], Any]) -> None:
        """``use`` outputs of either, and what it gives and all gradients are equal; ``None``, too.

        ``use`` is given the outputs and the tables by name.
        """
        results: list[list[Any]] = []
        for module, look_up in ((self.bags, self.by_bags), (self.fused, self.by_fused)):
            weights = torch.tensor([0.5, 2.0, 0.25], requires_grad=True)
            parameters = list(module.parameters())
            tables = dict(zip(self.bags, parameters, strict=True))
            gives = use(look_up(weights), tables)
            of_tables = [None if each.grad is None else each.grad for each in parameters]
            results.append([gives, weights.grad, *of_tables])
        for right, found in zip(*results, strict=True):
            if right is None or found is None:
                # Weights are one tensor: gradients of those that are not used are zeroes.
                assert right is None and (found is None or not found.any())
            else:
                torch.testing.assert_close(found.to_dense(), right.to_dense())


def one_after_the_other(outputs: dict[str, torch.Tensor], tables: Any) -> list[str]:
    for output in outputs.values():
        output.square().sum().backward()


@pytest.mark.parametrize("path", PATHS)
def test_outputs_may_be_differentiated_one_after_the_other(path: str) -> None:
    Pair(path).require_alike(one_after_the_other)


@pytest.mark.parametrize("path", PATHS)
def test_outputs_may_be_changed_in_place(path: str) -> None:
    def changed(outputs: dict[str, torch.Tensor], tables: Any) -> torch.Tensor:
        outputs["a"].mul_(outputs["b"].detach() + 1)
        outputs["b"].sigmoid_()
        outputs["d"] += outputs["a"]
        outputs["d"][0].zero_()
        total = sum(each.square().sum() for each in outputs.values())
        total.backward()
        return total.detach()

    Pair(path).require_alike(changed)


@pytest.mark.parametrize("path", PATHS)
def test_tables_of_outputs_that_are_not_used_have_no_gradients(path: str) -> None:
    def used(outputs: dict[str, torch.Tensor], tables: Any) -> None:
        outputs["b"].sum().backward()
        assert [name for name, table in tables.items() if table.grad is not None] == ["b"]

    Pair(path).require_alike(used)


@pytest.mark.parametrize("emulated", [False, True])
def test_a_table_may_change_before_its_gradient_is_computed(emulated: bool) -> None:
    """As the optimizer of another output changes it. Sums do not depend on what is in tables."""
    table = torch.nn.Parameter(torch.ones(10, 4))
    features = [Feature("a", 10, 4), Feature("b", 10, 4)]
    names = {"a": "t", "b": "t"}
    module = fused({"t": table}, features, table_of=names, emulated=emulated)
    outputs = module({name: torch.tensor([[1, 2]]) for name in "ab"})
    outputs["a"].sum().backward()
    with torch.no_grad():
        table -= 0.5 * table.grad
    outputs["b"].sum().backward()
    assert table.grad[:4, 0].tolist() == [0, 2, 2, 0]


def of_maxima(**options: Any) -> tuple[FusedEmbeddingBags, Any]:
    features = [Feature("a", 10, 4, "max"), Feature("b", 10, 4, weighted=True)]
    module = fused([torch.nn.Parameter(torch.ones(10, 4)) for _ in features], features, **options)
    values = {name: torch.tensor([[1, 2]]) for name in "ab"}
    return module, module(values, weights={"b": torch.ones(1, 2, requires_grad=True)})


@pytest.mark.parametrize("name", ["a", "b"])
def test_changes_of_what_gradients_depend_on_are_refused(name: str) -> None:
    module, outputs = of_maxima()
    with torch.no_grad():
        module.embedding_bags["01"["ab".index(name)]].weight.add_(1)
    with refused(
        f"backward: the table of {name} was modified by an inplace operation after the lookup: "
        "gradients need it as it was"
    ):
        outputs[name].sum().backward()
    other = "ba"["ab".index(name)]
    outputs[other].sum().backward()


def test_changed_inputs_are_refused() -> None:
    module, _ = of_maxima()
    packed = module._pack(
        {name: torch.tensor([[1, 2]]) for name in "ab"}, None, None, {"b": torch.ones(1, 2)}
    )
    first, _ = module._look_up_separately(packed)
    packed.values.zero_()
    with refused(
        "backward: an input was modified by an inplace operation after the lookup: gradients need "
        "it as it was"
    ):
        first.sum().backward()


@pytest.mark.parametrize("emulated", [False, True])
def test_the_step_of_an_optimizer_is_one(emulated: bool) -> None:
    features = [Feature("a", 10, 4), Feature("b", 10, 4)]
    tables = [torch.nn.Parameter(torch.ones(10, 4)) for _ in features]
    module = fused(tables, features, optimizer=SGD(0.5), emulated=emulated)
    outputs = module({name: torch.tensor([[1, 2]]) for name in "ab"})
    outputs["a"].mul_(3)
    outputs["a"].sum().backward(retain_graph=True)
    assert [table[1, 0].item() for table in tables] == [-0.5, 1]
    with refused(
        "backward: the optimizer has taken its step of this lookup: its outputs must be "
        "differentiated together, as in (a + b).backward()"
    ):
        outputs["b"].sum().backward()
    assert [table[1, 0].item() for table in tables] == [-0.5, 1]


def test_outputs_without_gradients_may_be_changed_with_them() -> None:
    module, _ = of_maxima()
    with torch.no_grad():
        outputs = module(
            {name: torch.tensor([[1, 2]]) for name in "ab"}, weights={"b": torch.ones(1, 2)}
        )
    scale = torch.ones(4, requires_grad=True)
    outputs["b"].mul_(scale)
    outputs["b"].sum().backward()
    assert scale.grad.tolist() == [2.0] * 4
    assert not outputs["a"].requires_grad


@pytest.mark.parametrize("optimizer", [None, SGD(0.5)])
def test_compiled_graphs_change_outputs_in_place(optimizer: Any) -> None:
    features = [Feature("a", 10, 4), Feature("b", 10, 4)]
    values = {name: torch.tensor([[1, 2]]) for name in "ab"}

    def trained(compiles: bool) -> list[torch.Tensor]:
        tables = [torch.nn.Parameter(torch.ones(10, 4)) for _ in features]
        module = fused(tables, features, optimizer=optimizer)

        def changed(values: Any) -> torch.Tensor:
            outputs = module(values)
            outputs["a"].mul_(3)
            return outputs["a"] + outputs["b"]

        if compiles:
            changed = torch.compile(changed, backend="aot_eager", fullgraph=True)
        changed(values).square().sum().backward()
        return [*(table.detach() for table in tables), *(table.grad for table in tables)]

    for found, right in zip(trained(True), trained(False), strict=True):
        assert (found is None and right is None) or torch.equal(found, right)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.torch.jit")
def test_traced_modules_have_no_functions_of_python(tmp_path: Path) -> None:
    class Sums(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bags = of_maxima()[0]

        def forward(self, values: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
            outputs = self.bags({"a": values, "b": values}, weights={"b": weights})
            return outputs["a"] + outputs["b"]

    traced = torch.jit.trace(Sums(), (torch.tensor([[1, 2]]), torch.ones(1, 2)), check_trace=False)
    torch.jit.save(traced, tmp_path / "sums.pt")


def test_kernels_are_compiled_once_for_any_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    from gnarl.sw.runtime.cuda.torch import gradients

    programs = []
    original = gradients.backward_program

    def recorded(*arguments: Any) -> Any:
        programs.append(original(*arguments))
        return programs[-1]

    monkeypatch.setattr(gradients, "backward_program", recorded)
    Pair("emulated").require_alike(one_after_the_other)
    assert len(programs) == 4
    assert len({id(program) for program in programs}) == 1


def test_keyed_tensors_are_one_output() -> None:
    """As of TorchRec's collection, whose parts are concatenated."""
    module = fused([torch.nn.Parameter(torch.ones(9, 4))], [Feature("x", 9, 4)])
    pooled = module(JaggedInputs.of({"x": [[1], [2, 2]]}))
    pooled.values().mul_(2)
    assert pooled["x"][:, 0].tolist() == [2, 4]
