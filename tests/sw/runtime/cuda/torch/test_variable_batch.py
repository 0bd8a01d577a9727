"""Keys whose batches differ in size, in the module in place of TorchRec's collection."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import pytest

torch = pytest.importorskip("torch")

from tests.support.cuda.torch_embedding import (  # noqa: E402
    CONFIGS,
    BagCollection,
    BagConfig,
    JaggedInputs,
    VaryingInputs,
    fused_collection,
)
from tests.support.errors import refused  # noqa: E402

BAGS: dict[str, list[list[int]]] = {
    "x": [[1, 9, 9], [], [3]],
    "y": [[19, 0]],
    "z": [[4], [4, 1, 0, 2]],
    "unused": [[1], [2], [3], [4], [5]],
}
ROWS = {"x": [0, 2, 1, 0], "y": [0, 0, 0, 0], "z": [1, 1, 0, 1], "unused": [4, 3, 2, 1]}


def varying(order: str, weighted: bool = False) -> VaryingInputs:
    bags = {key: BAGS[key] for key in order.split()}
    plain = JaggedInputs.of(bags, weighted)
    # Those of TorchRec need not be in the order of the keys.
    names = sorted(bags, reverse=True)
    inverse = names, torch.tensor([ROWS[name] for name in names])
    strides = [len(samples) for samples in bags.values()]
    return VaryingInputs(
        plain.names, plain.flat, plain.sizes, plain.given_weights, strides, inverse
    )


def expanded(inputs: VaryingInputs) -> JaggedInputs:
    """The same samples, each for itself."""
    weights = inputs.given_weights
    begins = [0, *accumulate(len(bag) for key in inputs.names for bag in BAGS[key])]
    firsts = dict(
        zip(inputs.names, accumulate([0, *inputs.strides]), strict=False)
    )  # of each key's bags
    places = [
        list(range(begins[firsts[key] + row], begins[firsts[key] + row + 1]))
        for key in inputs.names
        for row in ROWS[key]
    ]
    flat = [place for bag in places for place in bag]
    return JaggedInputs(
        inputs.names,
        inputs.flat[flat],
        torch.tensor([len(bag) for bag in places], dtype=torch.int32),
        None if weights is None else weights[flat],
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["y x z", "z unused x y", "x y z"])
@pytest.mark.parametrize("emulated", [False, True])
def test_samples_are_those_of_inverse_indices(order: str, weighted: bool, emulated: bool) -> None:
    configs = CONFIGS[:1] + CONFIGS[2:] if weighted else CONFIGS
    collection = BagCollection(configs, weighted)
    inputs = varying(order, weighted)
    module = fused_collection(collection, emulated=emulated)
    pooled = module(inputs).values()
    assert pooled.shape == (4, 14 if weighted else 22)
    wanted = collection(expanded(inputs))
    torch.testing.assert_close(pooled, wanted, rtol=1e-6, atol=1e-6)
    assert torch.equal(module.forward_concatenated(inputs), pooled)


def test_gradients_are_those_of_all_samples() -> None:
    collection = BagCollection(CONFIGS)
    module, found, right = fused_collection(collection), [], []
    inputs = varying("y x z")
    outputs = [(module(inputs).values(), found), (collection(expanded(inputs)), right)]
    for output, gradients in outputs:
        collection.zero_grad()
        output.square().sum().backward()
        gradients.extend(parameter.grad for parameter in collection.parameters())
    torch.testing.assert_close(found, right)


def test_compiled_graphs_take_them_too() -> None:
    collection = BagCollection(CONFIGS)
    module, inputs = fused_collection(collection), varying("y x z")
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    assert torch.equal(compiled(inputs).values(), module(inputs).values())


def test_keys_of_one_size_need_no_inverse_indices() -> None:
    configs = [BagConfig("t", 10, 8, ["x"]), BagConfig("v", 5, 6, ["z"])]
    collection = BagCollection(configs)
    bags = {"unused": [[1]], "x": [[1], [2, 3]], "z": [[0], []]}
    plain = JaggedInputs.of(bags)
    inputs = VaryingInputs(plain.names, plain.flat, plain.sizes, None, [1, 2, 2])
    wanted = collection(JaggedInputs.of({key: bags[key] for key in "xz"}))
    assert torch.equal(fused_collection(collection)(inputs).values(), wanted)


def test_inverse_indices_of_keys_of_one_size_are_followed() -> None:
    collection = BagCollection(CONFIGS[:1])
    plain = JaggedInputs.of({"x": BAGS["x"]})

    class Repeated(VaryingInputs):
        def length_per_key(self) -> list[int]:
            return JaggedInputs.length_per_key(self)

    inverse = ["x"], torch.tensor([[2, 2, 0, 1]])
    inputs = Repeated(plain.names, plain.flat, plain.sizes, None, [], inverse)
    found = fused_collection(collection)(inputs).values()
    assert torch.equal(found, collection(plain)[[2, 2, 0, 1]])


def test_what_does_not_fit_is_refused() -> None:
    module, inputs = fused_collection(BagCollection(CONFIGS)), varying("x y z")
    with refused(
        "input: samples of keys differ in number, 3 of x and others: must be one batch size, or "
        "come with inverse_indices"
    ):
        module(replace(inputs, inverse=None))
    with refused(
        "input: stride_per_key is [3, 1, 3], in all 7 samples of 3 keys: must be as lengths, 6 "
        "samples of 3 keys"
    ):
        module(replace(inputs, strides=[3, 1, 3]))
    names, rows = inputs.inverse or ([], torch.empty(0))
    with refused("inverse_indices: have no key z"):
        module(replace(inputs, inverse=(["a", *names[1:]], rows)))
    with refused("inverse_indices of y[2] = 1: must be from 0 to 0"):
        module(replace(inputs, inverse=(names, rows.index_fill(1, torch.tensor([2]), 1))))
    with refused("inverse_indices: are torch.int64 [4]: must be whole numbers [3 keys, samples]"):
        module(replace(inputs, inverse=(names, rows[0])))
