"""Files of ``torch.export.save`` that bring code along: none of it runs."""

from __future__ import annotations

import io
import json
import math
import pickle
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch._export.serde.serialize import (
    _TORCH_TO_SERIALIZE_DTYPE,
    _TORCH_TO_SERIALIZE_LAYOUT,
    _TORCH_TO_SERIALIZE_MEMORY_FORMAT,
    _dataclass_to_dict,
)

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.golden.loops import GoldenLoops
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.modules import file_workload, module_workload
from gnarl.sw.workloads.pytorch.archive import DTYPES
from gnarl.sw.workloads.pytorch.saved_arguments import argument_value
from tests.fuzz.damage_archive import members_of, packed
from tests.support.errors import refused
from tests.support.nests.pytorch_modules import bag, module, whole

INDICES, OFFSETS = torch.tensor([3, 0, 3, 9, 1]), torch.tensor([0, 2, 2])
GRAPH, INPUTS = "models/model.json", "data/sample_inputs/model.pt"


TYPES = [getattr(torch, name) for name in DTYPES.values()]
LAYOUTS = torch.strided, torch.sparse_coo, torch.sparse_csr, torch.sparse_csc
MEMORY_FORMATS = (
    torch.contiguous_format,
    torch.channels_last,
    torch.channels_last_3d,
    torch.preserve_format,
)


@pytest.mark.parametrize(
    ("kind", "values", "numbers"),
    [
        ("as_scalar_type", TYPES, _TORCH_TO_SERIALIZE_DTYPE),
        ("as_layout", LAYOUTS, _TORCH_TO_SERIALIZE_LAYOUT),
        ("as_memory_format", MEMORY_FORMATS, _TORCH_TO_SERIALIZE_MEMORY_FORMAT),
    ],
)
def test_arguments_by_number_are_those_that_torch_writes(
    kind: str, values: Iterable[Any], numbers: Mapping[Any, Any]
) -> None:
    for value in values:
        assert argument_value({kind: int(numbers[value])}, lambda argument: None) is value


@pytest.mark.parametrize("value", [2.5, math.inf, -math.inf, math.nan])
def test_floats_are_those_that_torch_writes(value: float) -> None:
    found = argument_value({"as_float": _dataclass_to_dict(value)}, lambda argument: None)
    np.testing.assert_array_equal(found, value)


class Opens:
    """Its pickle opens a file, and so makes it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (str(self.path), "w")


def bags(self, indices, offsets, *, scale):
    with torch.no_grad():
        pooled = torch.relu(self.bag(indices, offsets)).add_(self.shift) * scale
    return {"z": pooled + torch.tensor([1.0, 2, 3, 4, 5, 6]), "of": (pooled.sum(0), pooled)}


def made() -> torch.nn.Module:
    found = module(bags, bag=bag())
    found.register_buffer("shift", whole(6))
    return found


ARGUMENTS = {"indices": INDICES, "offsets": OFFSETS, "scale": 2.5}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pt2") / "bags.pt2"
    torch.export.save(torch.export.export(made(), (), ARGUMENTS), path)
    return path


def changed(good: Path, path: Path, members: dict[str, bytes | None]) -> Path:
    """A copy with other or more members; those that are ``None`` are left out."""
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(path, "w") as target:
        for info in source.infolist():
            root, _, name = info.filename.partition("/")
            if name not in members:
                target.writestr(info.filename, source.read(info))
        for name, octets in members.items():
            if octets is not None:
                target.writestr(f"{root}/{name}", octets)
    return path


def member(good: Path, name: str) -> bytes:
    with zipfile.ZipFile(good) as file:
        return file.read(f"bags/{name}")


def pickled(value: object) -> bytes:
    octets = io.BytesIO()
    torch.save(value, octets)
    return octets.getvalue()


def test_a_file_is_what_its_module_is(good: Path) -> None:
    found, wanted = file_workload(good), module_workload(made(), ARGUMENTS)
    assert found.nest == wanted.nest
    assert found.name == wanted.name
    assert {*found.inputs} == {*wanted.inputs}
    for name, array in wanted.inputs.items():
        np.testing.assert_array_equal(found.inputs[name], array)
    results = GoldenLoops(found.nest).run(found.binding)
    given = made()(**{k: v.clone() if hasattr(v, "clone") else v for k, v in ARGUMENTS.items()})
    np.testing.assert_array_equal(results["z"], given["z"].numpy())


def test_weights_and_constants_as_pytorch_2_8_writes_them(good: Path, tmp_path: Path) -> None:
    state = {"bag.weight": whole(10, 6), "shift": whole(6)}
    members = {
        "data/weights/model_weights_config.json": None,
        "data/constants/model_constants_config.json": None,
        "data/weights/model.pt": pickled(state),
        "data/constants/model.pt": pickled({"lifted_tensor_0": torch.tensor([1.0, 2, 3, 4, 5, 6])}),
    }
    found = file_workload(changed(good, tmp_path / "bags.pt2", members))
    wanted = file_workload(good)
    assert found.nest == wanted.nest
    for name, array in wanted.inputs.items():
        np.testing.assert_array_equal(found.inputs[name], array)


def _config(good: Path, kind: str, **fields: object) -> dict[str, bytes]:
    name = f"data/{kind}s/model_{kind}s_config.json"
    config = json.loads(member(good, name))
    for entry in config["config"].values():
        entry.update(fields)
    return {name: json.dumps(config).encode()}


PICKLES: dict[str, Callable[[Path, bytes], dict[str, bytes | None]]] = {
    "inputs": lambda good, octets: {INPUTS: octets},
    "old weights": lambda good, octets: {"data/weights/model.pt": octets},
    "old constants": lambda good, octets: {"data/constants/model.pt": octets},
    "a weight": lambda good, octets: {
        **_config(good, "weight", use_pickle=True, path_name="weight_0"),
        "data/weights/weight_0": octets,
    },
    "a constant": lambda good, octets: {
        **_config(good, "constant", use_pickle=True, path_name="tensor_0"),
        "data/constants/tensor_0": octets,
    },
    "a custom object": lambda good, octets: {
        **_config(good, "constant", use_pickle=True, path_name="custom_obj_0"),
        "data/constants/custom_obj_0": octets,
    },
    "an opaque object": lambda good, octets: {
        **_config(good, "constant", use_pickle=True, path_name="opaque_obj_0"),
        "data/constants/opaque_obj_0": octets,
    },
    "not one of the list": lambda good, octets: {
        "data/constants/opaque_obj_7": octets,
        "data/extra/model.pt": octets,
        "data/aotinductor/model/model.so": octets,
    },
}


@pytest.mark.parametrize("where", PICKLES)
@pytest.mark.parametrize("is_archive", [True, False], ids=["torch.save", "pickle"])
def test_no_pickle_runs_code(good: Path, tmp_path: Path, where: str, is_archive: bool) -> None:
    canary = tmp_path / "canary"
    octets = pickled(Opens(canary)) if is_archive else pickle.dumps(Opens(canary))
    path = changed(good, tmp_path / "bags.pt2", PICKLES[where](good, octets))
    if where == "not one of the list":
        file_workload(path)
    else:
        with pytest.raises(WorkloadError, match=r"bags\.pt2: data/\S+: .*must be a "):
            file_workload(path)
    assert not canary.exists()


def strings(tree: Any) -> Iterator[str]:
    """Names of fields with texts, or with lists of them."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            if isinstance(value, str) or (isinstance(value, list) and isinstance(key, str)):
                yield key
            yield from strings(value)
    elif isinstance(tree, list):
        for each in tree:
            yield from strings(each)


def replaced(tree: Any, field: str, text: str) -> Any:
    """With a text in each field of that name; of a list, in place of or behind its texts."""
    if isinstance(tree, list):
        return [replaced(each, field, text) for each in tree]
    if not isinstance(tree, dict):
        return tree
    found = {key: replaced(value, field, text) for key, value in tree.items()}
    if isinstance(found.get(field), str):
        found[field] = text
    elif isinstance(found.get(field), list) and not any(
        isinstance(each, dict) for each in found[field]
    ):
        found[field] = [text]
    return found


FIELDS = (
    "name target parameter_name buffer_name tensor_constant_name stack_trace nn_module_stack "
    "torch_fn fqn in_spec out_spec forward_arg_names guards_code verifiers torch_version"
).split()


def test_all_texts_of_a_graph_are_tried(good: Path) -> None:
    found = {*strings(json.loads(member(good, GRAPH)))}
    lists = (
        "inputs outputs nodes input_specs output_specs module_call_graph sizes strides type as_ints"
    )
    assert found - {*lists.split(), "as_tensors", "type"} == {*FIELDS}


@pytest.mark.parametrize("field", FIELDS)
def test_no_text_of_a_graph_is_source(good: Path, tmp_path: Path, field: str) -> None:
    canary = tmp_path / "canary"
    call = f"__import__('pathlib').Path({str(canary)!r}).touch()"
    tree = json.loads(member(good, GRAPH))
    for number, text in enumerate(
        (call, f"x={call}", f"x\n{call}\n", f"x): {call} #", "os.system")
    ):
        other = json.dumps(replaced(tree, field, text)).encode()
        path = changed(good, tmp_path / f"bags{number}.pt2", {GRAPH: other})
        try:
            file_workload(path)
        except WorkloadError:
            assert field not in ("torch_fn", "nn_module_stack", "fqn", "guards_code", "in_spec")
        assert not canary.exists()
        if field not in ("name", "stack_trace"):
            break


def test_names_that_are_source_are_only_names(good: Path, tmp_path: Path) -> None:
    """All of them renamed alike, so that the graph is whole."""
    canary = tmp_path / "canary"
    text = member(good, GRAPH).decode()
    hostile = json.dumps(f"i=__import__('pathlib').Path({str(canary)!r}).touch()")
    renamed = text.replace('{"name": "indices"}', f'{{"name": {hostile}}}')
    path = changed(good, tmp_path / "bags.pt2", {GRAPH: renamed.encode()})
    workload = file_workload(path)
    assert not canary.exists()
    assert any("pathlib" in name for name in workload.nest.arrays)


TARGETS = (
    "torch.hub.load",
    "torch.os.system",
    "_operator.call",
    "builtins.eval",
    "math.floor",
    "torch.ops.aten.from_file.default",
    "torch.ops.aten.save.default",
    "torch.ops.aten.__class__.mro",
    "torch.ops.aten.relu.__call__",
    "torch.ops.load_library.default",
    "torch.ops.higher_order.cond",
    "torch.ops.prim.Print.default",
)


@pytest.mark.parametrize("target", TARGETS)
def test_operators_are_those_of_aten_on_tensors_and_numbers(
    good: Path, tmp_path: Path, target: str
) -> None:
    text = member(good, GRAPH).decode().replace("torch.ops.aten.relu.default", target)
    path = changed(good, tmp_path / "bags.pt2", {GRAPH: text.encode()})
    with pytest.raises(WorkloadError) as caught:
        file_workload(path)
    assert str(caught.value) == (
        f"{path}: {target.removeprefix('torch.ops.')}: not supported: must be an operator of aten "
        "on tensors and numbers"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"range_constraints": {}', '"range_constraints": {"s0": 1}', "has dynamic shapes"),
        ('{"as_float": 2.5}', '{"as_sym_int": {"as_name": "s0"}}', "s0: depends on values"),
        ('{"as_float": 2.5}', '{"as_expr": {"expr_str": "print(1)"}}', "an argument as_expr"),
        ('{"as_float": 2.5}', '{"as_custom_obj": {"name": "o"}}', "an argument as_custom_obj"),
        ('{"as_float": 2.5}', '{"as_operator": "os.system"}', "an argument as_operator"),
        ('{"as_float": 2.5}', '{"as_float": "many"}', "graph: many: must be float$"),
        ('{"name": "self"', '{"name": "none"', "has no argument 'none'$"),
        ('{"name": "other"', '{"name": "self"', "'self' is given twice$"),
        ("builtins.dict", "collections.namedtuple", "a result is a collections.namedtuple"),
    ],
)
def test_what_a_graph_must_not_have(
    good: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = member(good, GRAPH).decode()
    assert old in text
    path = changed(good, tmp_path / "bags.pt2", {GRAPH: text.replace(old, new).encode()})
    with pytest.raises(WorkloadError, match=rf"bags\.pt2: .*{message}"):
        file_workload(path)


def test_operators_without_results(tmp_path: Path) -> None:
    """What they check is known when a module is exported."""

    def checked(self, x, i):
        torch.ops.aten._assert_tensor_metadata.default(x, dtype=torch.float32)
        return x[i]

    path, given = tmp_path / "checked.pt2", (whole(3), torch.tensor([2, 0]))
    torch.export.save(torch.export.export(module(checked), given), path)
    assert "result[i0] = x[i[i0]]" in print_nest(file_workload(path).nest)


@pytest.mark.parametrize("size", [1 << 40, -1])
def test_tensors_beyond_their_files(good: Path, tmp_path: Path, size: int) -> None:
    meta = {
        "dtype": 7,
        "sizes": [{"as_int": size}],
        "strides": [{"as_int": 1}],
        "storage_offset": {"as_int": 0},
    }
    members = _config(good, "weight", tensor_meta=meta)
    path = changed(good, tmp_path / "bags.pt2", {**members})
    with pytest.raises(WorkloadError, match=r"elements: too few for weight"):
        file_workload(path)


def test_types_that_no_tensor_has(good: Path, tmp_path: Path) -> None:
    members = _config(good, "weight", tensor_meta={"dtype": 14})
    path = changed(good, tmp_path / "bags.pt2", {**members})
    with refused(
        f"{path}: data/weights/weight_0: dtype = 14: must be one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "
        "11, 12, 13, 28, 34, 35"
    ):
        file_workload(path)


def arguments(**others: object) -> dict[str, bytes | None]:
    """Arguments of the export, but for ``others``."""
    return {INPUTS: pickled(((), ARGUMENTS | others))}


BEYOND = r": tensors up to this one expand to [\d,]{11,} bytes: must be at most 13\d,\d{3},\d{3}$"
ONE = torch.zeros(1, dtype=torch.int64)


@pytest.mark.parametrize(
    "members",
    [
        lambda good: _config(
            good,
            "weight",
            tensor_meta={
                "dtype": 7,
                "sizes": [{"as_int": 1 << 40}],
                "strides": [{"as_int": 0}],
                "storage_offset": {"as_int": 0},
            },
        ),
        lambda good: {"data/weights/model.pt": pickled({"shift": torch.ones(1).expand(1 << 40)})},
        lambda good: arguments(indices=ONE.expand(1 << 28)),
        lambda good: {INPUTS: pickled(((), [ONE.expand(1 << 25)] * 3))},
    ],
    ids=["weight", "weights", "input", "three inputs"],
)
def test_files_that_expand_beyond_measure(
    good: Path, tmp_path: Path, members: Callable[[Path], dict[str, bytes | None]]
) -> None:
    with pytest.raises(WorkloadError, match=BEYOND):
        file_workload(changed(good, tmp_path / "bags.pt2", members(good)))


def test_pickles_are_stored_too(good: Path, tmp_path: Path) -> None:
    """PyTorch reads archives in archives, and expands what is compressed in them."""
    deflated = packed(members_of(member(good, INPUTS)), zipfile.ZIP_DEFLATED)
    path = changed(good, tmp_path / "bags.pt2", {INPUTS: deflated})
    with refused(f"{path}: {INPUTS}: archive/data.pkl: must be stored once, uncompressed"):
        file_workload(path)


def test_negated_views(good: Path, tmp_path: Path) -> None:
    """A tensor whose elements are those that are stored, negated."""
    negated = torch._neg_view(torch.tensor([-3, 0, -3, -9, -1]))
    found = file_workload(changed(good, tmp_path / "bags.pt2", arguments(indices=negated)))
    np.testing.assert_array_equal(found.inputs["indices"], INDICES)


def test_what_pytorch_refuses_is_one_line(
    good: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """PyTorch writes the traceback of what it refuses to stderr, besides."""
    path = changed(good, tmp_path / "bags.pt2", arguments(indices=INDICES > 0))
    with refused(f"{path}: cannot be read: expected indices to be long or int, got torch.bool"):
        file_workload(path)
    assert capfd.readouterr() == ("", "")


def test_other_archives_are_refused(tmp_path: Path, good: Path) -> None:
    path = tmp_path / "old.pt2"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("version", "8.0")
        file.writestr("serialized_exported_program.json", "{}")
    with pytest.raises(WorkloadError, match=r"by torch\.export\.save of PyTorch 2\.8 or later$"):
        file_workload(path)
    path = changed(good, tmp_path / "bags.pt2", {INPUTS: None})
    with pytest.raises(WorkloadError, match=r"has no data/sample_inputs/model\.pt: must have one$"):
        file_workload(path)
