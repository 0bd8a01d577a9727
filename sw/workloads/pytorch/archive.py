"""What ``torch.export.save`` of PyTorch 2.8 and later has written, read as data.

``torch.export.load`` runs code that such a file brings along: where a pickle has more than tensors
it is loaded all the same, and custom objects and classes of trees are imported by name. Here
pickles are loaded with ``weights_only``, other texts are JSON, and nothing is looked up by a name
of the file.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnarl.hw.lib.errors import WorkloadError, one_line, quoted, short
from gnarl.sw.program.command_files import note_input
from gnarl.sw.workloads.pytorch.saved_fields import reading, whole
from gnarl.sw.workloads.text_file import parse_json

_WEIGHTS, _CONSTANTS = "data/weights/", "data/constants/"
_INPUTS = "data/sample_inputs/model.pt"
GRAPH = "models/model.json"

DTYPES = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    9: "complex32",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    34: "uint32",
    35: "uint64",
}
"""Types of elements by their numbers in such a file."""

_EXPANDED = 2**27
"""Bytes of tensors in a small file."""

_MOST_USES = 4
"""How often all that a file stores may be in its tensors; weights are tied, for instance."""

_MOST_VALUES, _MOST_DEPTH = 1 << 16, 64
"""Limits of a pickle: values and containers, of each as often as it occurs; containers in each
other."""

_GLOBAL = re.compile(r"GLOBAL ([\w.]+)")
"""Whose code a pickle would run, as PyTorch says it."""


@dataclass(frozen=True)
class SavedProgram:
    """A program as its file has it.

    graph
        JSON of a ``torch._export.serde.schema.ExportedProgram``.
    tensors
        parameters, buffers and constants by name.
    inputs
        leaves of the arguments of the export, in order.
    """

    graph: dict[str, Any]
    tensors: dict[str, Any]
    inputs: list[Any]


def read_archive(path: Path) -> SavedProgram:
    """Raises ``WorkloadError``, without the file's name, and what Python and PyTorch raise."""
    note_input(path)
    with zipfile.ZipFile(path) as file:
        members = _members(file)
        if GRAPH not in members:
            raise WorkloadError(
                f"has no {GRAPH}: must be written by torch.export.save of PyTorch 2.8 or later"
            )
        return _Archive(file, members, path.stat().st_size).program()


def _members(file: zipfile.ZipFile, place: str = "") -> dict[str, zipfile.ZipInfo]:
    """Members by their names below the archive's own folder. ``place``: what error texts begin
    with."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in file.infolist():
        name = info.filename.partition("/")[2]
        if not name:
            continue
        if info.compress_type != zipfile.ZIP_STORED or name in members:
            raise WorkloadError(f"{place}{short(info.filename)}: must be stored once, uncompressed")
        members[name] = info
    return members


class _Archive:
    """The archive in a file. ``size``: octets of the file."""

    def __init__(
        self, file: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], size: int
    ) -> None:
        self._file, self._members, self._size = file, members, size
        self._expanded = 0

    def program(self) -> SavedProgram:
        if "byteorder" in self._members and self._octets("byteorder") != b"little":
            raise WorkloadError("byteorder: must be little")
        tensors = self._tensors(_WEIGHTS, "weight")
        for name, value in self._tensors(_CONSTANTS, "constant").items():
            tensors.setdefault(name, value)
        return SavedProgram(self._json(GRAPH), tensors, self._inputs())

    def _octets(self, name: str) -> bytes:
        if name not in self._members:
            raise WorkloadError(f"has no {name}: must have one")
        return self._file.read(self._members[name])

    def _json(self, name: str) -> Any:
        try:
            return parse_json(self._octets(name).decode(), name)
        except UnicodeDecodeError as error:
            raise WorkloadError(f"{name}: byte {error.start} is not valid UTF-8") from None

    def _inputs(self) -> list[Any]:
        from torch.utils._pytree import tree_leaves

        given = self._unpickled(_INPUTS)
        _refuse_expanding(given, _INPUTS)
        return [self._plain(value, _INPUTS) for value in tree_leaves(given)]

    def _unpickled(self, name: str) -> Any:
        import torch

        octets = io.BytesIO(self._octets(name))
        if zipfile.is_zipfile(octets):
            with zipfile.ZipFile(octets) as inner:
                _members(inner, f"{name}: ")
        octets.seek(0)
        try:
            return torch.load(octets, map_location="cpu", weights_only=True)
        except Exception as error:  # of many types
            named = _GLOBAL.search(one_line(error))
            reason = f"has {short(named[1])}" if named else "cannot be read"
            raise WorkloadError(
                f"{name}: {reason}: must be a pickle of tensors, numbers and their containers alone"
            ) from error

    def _plain(self, value: Any, name: str) -> Any:
        import torch

        if value is None or type(value) in (bool, int, float):
            return value
        if type(value) in (torch.Tensor, torch.nn.Parameter) and value.device.type == "cpu":
            self._count(value, name)
            return value.detach()
        raise WorkloadError(f"{name}: a {type(value).__name__}: must be a tensor or a number")

    def _count(self, tensor: Any, name: str) -> None:
        """Refuses many elements for each one that is stored: strides of 0 repeat them."""
        self._expanded += sum(each.numel() * each.element_size() for each in _stored(tensor))
        limit = _EXPANDED + _MOST_USES * self._size
        if self._expanded > limit:
            raise WorkloadError(
                f"{name}: tensors up to this one expand to {self._expanded:,} bytes: must be at "
                f"most {limit:,}"
            )

    def _tensors(self, folder: str, kind: str) -> dict[str, Any]:
        if (old := f"{folder}model.pt") in self._members:
            tensors = self._unpickled(old)
            if not isinstance(tensors, dict):
                raise WorkloadError(f"{old}: must have tensors by name")
            return {str(name): self._plain(value, old) for name, value in tensors.items()}
        config = f"{folder}model_{kind}s_config.json"
        with reading(config):
            entries = dict(self._json(config)["config"].items())
        tensors = {}
        for name, entry in entries.items():
            with reading(f"{config}: {kind} {quoted(name)}"):
                tensors[name] = self._tensor(folder, name, entry, kind)
        return tensors

    def _tensor(self, folder: str, name: str, entry: Mapping[str, Any], kind: str) -> Any:
        import torch

        file = entry["path_name"]
        if not str(file).startswith(("weight_", "tensor_")):
            raise WorkloadError(
                f"{folder}{short(file)}: {kind} {quoted(name)} must be a tensor, in a file called "
                "weight_… or tensor_…"
            )
        if entry["use_pickle"]:
            return self._plain(self._unpickled(folder + file), folder + file)
        meta = entry["tensor_meta"]
        if meta["dtype"] not in DTYPES:
            raise WorkloadError(
                f"{folder}{short(file)}: dtype = {quoted(meta['dtype'])}: must be one of "
                f"{', '.join(map(str, DTYPES))}"
            )
        dtype = getattr(torch, DTYPES[meta["dtype"]])
        sizes = [whole(each) for each in meta["sizes"]]
        strides = [whole(each) for each in meta["strides"]]
        offset = whole(meta["storage_offset"])
        octets = bytearray(self._octets(folder + file))
        if len(octets) % dtype.itemsize:
            raise WorkloadError(
                f"{folder}{short(file)}: {len(octets)} bytes: must be whole elements, of "
                f"{dtype.itemsize} bytes"
            )
        flat = torch.frombuffer(octets, dtype=dtype) if octets else torch.empty(0, dtype=dtype)
        last = offset + sum((size - 1) * step for size, step in zip(sizes, strides, strict=True))
        if min([*sizes, *strides, offset, 0]) < 0 or (0 not in sizes and last >= len(flat)):
            raise WorkloadError(
                f"{folder}{short(file)}: {len(flat)} elements: too few for {kind} {quoted(name)}"
            )
        if 0 in sizes:
            return torch.empty(sizes, dtype=dtype)
        tensor = torch.as_strided(flat, sizes, strides, offset)
        self._count(tensor, f"{folder}{short(file)}")
        return tensor.clone()


def _refuse_expanding(given: Any, name: str) -> None:
    """Raises ``WorkloadError`` for containers of too many values: a pickle has a container once,
    wherever it occurs. O(what the pickle has)."""
    counts: dict[int, int] = {}

    def count(value: Any, depth: int) -> int:
        if depth > _MOST_DEPTH:
            raise WorkloadError(f"{name}: containers in each other: must be at most {_MOST_DEPTH}")
        if id(value) not in counts:
            held = value.values() if isinstance(value, Mapping) else value
            is_container = isinstance(value, Mapping | list | tuple | deque)
            values = 1 + sum(count(each, depth + 1) for each in held) if is_container else 1
            if values > _MOST_VALUES:
                raise WorkloadError(
                    f"{name}: expands to more than {_MOST_VALUES:,} values: must be at most that"
                )
            counts[id(value)] = values
        return counts[id(value)]

    count(given, 0)


def _stored(tensor: Any) -> list[Any]:
    """The dense tensors that a tensor is stored as; none of layouts that are not supported."""
    match str(tensor.layout).removeprefix("torch."):
        case "strided":
            return [tensor]
        case "sparse_coo":
            return [tensor._indices(), tensor._values()]
        case "sparse_csr":
            return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    return []
