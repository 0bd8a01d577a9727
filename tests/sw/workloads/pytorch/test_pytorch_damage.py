"""Files of ``torch.export.save`` whose fields are not what they must be, or expand without end."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.modules import file_workload
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import module, whole

GRAPH, INPUTS = "models/model.json", "data/sample_inputs/model.pt"
WEIGHTS = "data/weights/model_weights_config.json"
RIGHT = "must be as torch.export.save writes it"


def forward(self, x):
    return (x * self.shift).to(torch.float32)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = module(forward)
    found.shift = torch.nn.Parameter(whole(6))
    path = tmp_path_factory.mktemp("pt2") / "m.pt2"
    torch.export.save(torch.export.export(found, (whole(6),)), path)
    return path


def with_member(good: Path, path: Path, name: str, octets: bytes) -> Path:
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(path, "w") as target:
        for info in source.infolist():
            is_it = info.filename.partition("/")[2] == name
            target.writestr(info.filename, octets if is_it else source.read(info))
    return path


def pickled(value: object) -> bytes:
    octets = io.BytesIO()
    torch.save(value, octets)
    return octets.getvalue()


def _set(*path: Any, to: Any) -> Callable[[Any], Any]:
    """Another value of a field, or none if it is ``...``."""

    def change(tree: Any) -> Any:
        if not path:
            return to
        here = tree
        for key in path[:-1]:
            here = here[key]
        if to is ...:
            del here[path[-1]]
        else:
            here[path[-1]] = to
        return tree

    return change


_META = ("config", "shift", "tensor_meta")
_SIGNATURE = ("graph_module", "signature")
_NODES = ("graph_module", "graph", "nodes")
_WEIGHT = f"{WEIGHTS}: weight 'shift'"
_TYPE = f"has a field of another type: {RIGHT}"


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        (WEIGHTS, _set(to=[]), f"{WEIGHTS}: {_TYPE}"),
        (WEIGHTS, _set(to={}), f"{WEIGHTS}: has no 'config': {RIGHT}"),
        (WEIGHTS, _set("config", to=5), f"{WEIGHTS}: {_TYPE}"),
        (WEIGHTS, _set("config", "shift", to=5), f"{_WEIGHT}: {_TYPE}"),
        (WEIGHTS, _set("config", "shift", "path_name", to=...), f"{_WEIGHT}: has no 'path_name'"),
        (WEIGHTS, _set(*_META, to=None), f"{_WEIGHT}: {_TYPE}"),
        (WEIGHTS, _set(*_META, "sizes", to=6), f"{_WEIGHT}: {_TYPE}"),
        (WEIGHTS, _set(*_META, "sizes", 0, to=6), f"{_WEIGHT}: {_TYPE}"),
        (WEIGHTS, _set(*_META, "sizes", 0, to={"as_expr": 6}), f"{_WEIGHT}: has no 'as_int'"),
        (WEIGHTS, _set(*_META, "sizes", 0, to={"as_int": "6"}), f"{_WEIGHT}: {_TYPE}"),
        (WEIGHTS, _set(*_META, "sizes", 0, to={"as_int": 5.5}), f"{_WEIGHT}: {_TYPE}"),
        (WEIGHTS, _set(*_META, "sizes", to=[]), None),
        (WEIGHTS, _set(*_META, "strides", to=[]), f"{_WEIGHT}: {_TYPE}"),
        (WEIGHTS, _set(*_META, "strides", 0, to={"as_int": True}), f"{_WEIGHT}: {_TYPE}"),
        (WEIGHTS, _set(*_META, "storage_offset", to=0), f"{_WEIGHT}: {_TYPE}"),
        (WEIGHTS, _set(*_META, "dtype", to=[7]), f"{_WEIGHT}: {_TYPE}"),
        (WEIGHTS, _set(*_META, "dtype", to=99), "data/weights/weight_0: dtype = 99: must be one"),
        (GRAPH, _set(to=[]), f"{GRAPH}: {_TYPE}"),
        (GRAPH, _set(to={}), f"{GRAPH}: has no 'graph_module': {RIGHT}"),
        (GRAPH, _set("graph_module", to=[]), f"{GRAPH}: graph_module: {_TYPE}"),
        (GRAPH, _set(*_SIGNATURE, to={}), f"{GRAPH}: graph_module: has no 'input_specs'"),
        (GRAPH, _set(*_SIGNATURE, "input_specs", to=3), f"{GRAPH}: graph_module: {_TYPE}"),
        (GRAPH, _set(*_SIGNATURE, "input_specs", 0, to=3), f"{GRAPH}: input_specs[0]: {_TYPE}"),
        (
            GRAPH,
            _set(*_SIGNATURE, "input_specs", 1, "user_input", "arg", to=3),
            f"{GRAPH}: input_specs[1]: {_TYPE}",
        ),
        (
            GRAPH,
            _set(*_SIGNATURE, "input_specs", 0, "parameter", "parameter_name", to=...),
            f"{GRAPH}: input_specs[0]: has no 'parameter_name'",
        ),
        (
            GRAPH,
            _set(*_SIGNATURE, "output_specs", 0, "user_output", to={}),
            f"{GRAPH}: output_specs[0]: has no 'arg'",
        ),
        (GRAPH, _set(*_NODES, to=7), f"{GRAPH}: graph_module.graph.nodes: {_TYPE}"),
        (GRAPH, _set(*_NODES, 0, to=7), f"{GRAPH}: nodes[0]: {_TYPE}"),
        (GRAPH, _set(*_NODES, 0, "target", to=...), f"{GRAPH}: nodes[0]: has no 'target'"),
        (GRAPH, _set(*_NODES, 0, "inputs", to=None), f"{GRAPH}: nodes[0]: {_TYPE}"),
        (
            GRAPH,
            _set(*_NODES, 0, "inputs", 0, "arg", to={"as_scalar_type": 99}),
            "graph: as_scalar_type = 99: must be one of 1, 2, ",
        ),
        (
            GRAPH,
            _set(*_NODES, 0, "inputs", 0, "arg", to={"as_layout": [1]}),
            "graph: as_layout = [1]: must be one of 1, 2, 3, 7",
        ),
        (
            GRAPH,
            _set("graph_module", "module_call_graph", to=[]),
            f"{GRAPH}: graph_module: {_TYPE}",
        ),
        (
            GRAPH,
            _set("graph_module", "module_call_graph", 0, "signature", "out_spec", to="[1"),
            f"{GRAPH}: module_call_graph[0].signature.out_spec: {_TYPE}",
        ),
    ],
)
def test_fields_of_other_types_are_named(
    good: Path, tmp_path: Path, name: str, change: Callable[[Any], Any], text: str | None
) -> None:
    with zipfile.ZipFile(good) as file:
        tree = change(json.loads(file.read(f"m/{name}")))
    path = with_member(good, tmp_path / "m.pt2", name, json.dumps(tree).encode())
    with pytest.raises(WorkloadError) as caught:
        file_workload(path)
    if text is not None:
        assert str(caught.value).startswith(f"{path}: {text}")


@pytest.mark.parametrize(
    ("name", "octets", "text"),
    [
        (GRAPH, b"{\xff", f"{GRAPH}: byte 1 is not valid UTF-8"),
        (GRAPH, b"{\n", f"{GRAPH}:2: invalid JSON at column 1: Expecting property name"),
        ("data/weights/weight_0", b"123", "data/weights/weight_0: 3 bytes: must be whole elements"),
    ],
)
def test_members_that_are_none_of_their_kind_are_named(
    good: Path, tmp_path: Path, name: str, octets: bytes, text: str
) -> None:
    path = with_member(good, tmp_path / "m.pt2", name, octets)
    with pytest.raises(WorkloadError) as caught:
        file_workload(path)
    assert str(caught.value).startswith(f"{path}: {text}")


DOUBLED: dict[str, Callable[[Any], Any]] = {
    "list": lambda inner: [inner, inner],
    "tuple": lambda inner: (inner, inner),
    "dict": lambda inner: {"a": inner, "b": inner},
    "ordered dict": lambda inner: OrderedDict(a=inner, b=[inner]),
}


@pytest.mark.parametrize("kind", DOUBLED)
@pytest.mark.parametrize("leaf", [1, [], ()], ids=repr)
def test_containers_that_expand_are_refused_at_once(
    good: Path, tmp_path: Path, kind: str, leaf: Any
) -> None:
    given: Any = leaf
    for _ in range(40 if kind != "ordered dict" else 30):
        given = DOUBLED[kind](given)
    for number, value in enumerate((((given,), {}), ((), {"x": given}))):
        path = with_member(good, tmp_path / f"m{number}.pt2", INPUTS, pickled(value))
        start = time.process_time()
        with refused(f"{path}: {INPUTS}: expands to more than 65,536 values: must be at most that"):
            file_workload(path)
        assert time.process_time() - start < 1.0


def test_containers_in_themselves_or_too_deep_are_refused(good: Path, tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(70):
        deep = [deep]
    endless: list[Any] = []
    endless += [endless, endless]
    for number, value in enumerate((deep, endless)):
        path = with_member(good, tmp_path / f"m{number}.pt2", INPUTS, pickled(((value,), {})))
        with refused(f"{path}: {INPUTS}: containers in each other: must be at most 64"):
            file_workload(path)


def test_a_container_may_occur_twice(good: Path, tmp_path: Path) -> None:
    pair = [whole(6)]
    path = with_member(good, tmp_path / "m.pt2", INPUTS, pickled(((pair, pair, (), ()), {})))
    with refused(f"{path}: sample inputs: too many: must be as many as the graph's"):
        file_workload(path)


@pytest.mark.parametrize("name", ["data/weights/model.pt", "data/constants/model.pt"])
def test_other_pickles_do_not_expand(good: Path, tmp_path: Path, name: str) -> None:
    given: Any = 1
    for _ in range(40):
        given = [given, given]
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(path, "w") as target:
        for info in source.infolist():
            target.writestr(info.filename, source.read(info))
        target.writestr(f"m/{name}", pickled({"shift": given}))
    start = time.process_time()
    with refused(f"{path}: {name}: a list: must be a tensor or a number"):
        file_workload(path)
    assert time.process_time() - start < 1.0
