"""Damage to the tensors of a file of ``torch.export.save``: its inputs, and sizes of its weights.

PyTorch has threads, which the process that damages files must not have: pickles are written here.
"""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.fuzz.damage_archive import members_of, packed

_INPUTS = "data/sample_inputs/model.pt"
_WEIGHTS = "data/weights/model_weights_config.json"

_STORAGES = {
    **{"Long": 8, "Int": 4, "Short": 2, "Char": 1, "Byte": 1, "Bool": 1},
    **{"Double": 8, "Float": 4, "Half": 2, "BFloat16": 2, "ComplexFloat": 8, "QInt8": 1},
}
"""Octets of an element, by type."""

_SIZES = (0, 1, 2, 3, 4)
_LARGE_SIZES = (*_SIZES, 10, 1 << 20, 1 << 28, 1 << 31, 1 << 40, 1 << 62, -1)
_ELEMENTS = (0, 0, 1, 2, 3, 4)
_LARGE_ELEMENTS = (*_ELEMENTS, 9, 10, 255, 1 << 31, (1 << 64) - 1, 0x7FC00000, 0x3F800000)


def change_inputs(octets: bytes, random: Random) -> bytes:
    """Other arguments of the export: tensors of any type, size and stride, numbers, or too many."""
    count = random.choice((1, 2, 2, 2, 2, 2, 2, 3))
    files: list[bytes] = []
    values = b"".join(_value(files, random) for _ in range(count))
    content = b"\x80\x02((" + values + b"t}t."
    members = [("archive/data.pkl", content)]
    members += [(f"archive/data/{at}", each) for at, each in enumerate(files)]
    method = random.choice((*[zipfile.ZIP_STORED] * 8, zipfile.ZIP_DEFLATED))
    version = [("archive/version", b"3\n"), ("archive/byteorder", b"little")]
    return _with_member(octets, _INPUTS, packed([*members, *version], method))


def change_weight(octets: bytes, random: Random) -> bytes:
    """Other sizes and strides of weights, and their type."""
    config = next((each for name, each in members_of(octets) if name.endswith(_WEIGHTS)), b"{}")
    try:
        tree = json.loads(config)
        metas = [entry["tensor_meta"] for entry in tree["config"].values()]
        for meta in metas:
            dimensions = random.choice((1, 2, 2, 2, 3))
            sizes = [random.choice(_LARGE_SIZES) for _ in range(dimensions)]
            meta["sizes"] = [{"as_int": size} for size in sizes]
            meta["strides"] = [{"as_int": stride} for stride in _strides(sizes, random)]
            meta["dtype"] = random.choice((7, 7, 7, 7, *range(36)))
    except (ValueError, TypeError, KeyError, AttributeError):  # damaged already
        return octets
    return _with_member(octets, _WEIGHTS, json.dumps(tree).encode())


def _value(files: list[bytes], random: Random) -> bytes:
    """Opcodes of a tensor, whose storage becomes one of ``files``, or of something else."""
    if random.random() < 0.1:
        value: Any = random.choice((None, True, 0, 3, 1 << 70, 0.5, float("nan"), "x", [], {}))
        return pickle.dumps(value, 2)[2:-1]
    is_large = random.random() < 0.4
    type = random.choice([*_STORAGES]) if is_large else "Long"
    dimensions = random.choice((0, 1, 1, 1, 1, 1, 2, 3))
    sizes = [random.choice(_LARGE_SIZES if is_large else _SIZES) for _ in range(dimensions)]
    strides = _strides(sizes, random)
    stored = random.choice((1, 2, 4, 40, 64))
    width = _STORAGES[type]
    elements = _LARGE_ELEMENTS if is_large else _ELEMENTS
    numbers = sorted(random.choice(elements) & (1 << 8 * width) - 1 for _ in range(stored))
    files.append(b"".join(number.to_bytes(width, "little") for number in numbers))
    key = str(len(files) - 1)
    storage = b"(" + _plain("storage") + b"ctorch\n%sStorage\n" % type.encode()
    storage += _plain(key) + _plain("cpu") + _plain(stored) + b"tQ"
    offset = random.choice((0, 0, 0, 0, 1, -1, 1 << 40))
    shape = _plain(offset) + _plain(tuple(sizes)) + _plain(tuple(strides))
    hooks = b"\x89ccollections\nOrderedDict\n)R"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + shape + hooks + b"tR"


def _plain(value: object) -> bytes:
    """Opcodes of numbers, texts and tuples of these, without memos."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file, 2)
    pickler.fast = True
    pickler.dump(value)
    return file.getvalue()[2:-1]


def _strides(sizes: Sequence[int], random: Random) -> list[int]:
    kind = random.random()
    if kind < 0.3:
        return [0 for _ in sizes]
    if kind < 0.4:
        return [random.choice((0, 1, 2, -1, 1 << 40)) for _ in sizes]
    strides, step = list[int](), 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= max(1, size)
    return [min(stride, (1 << 63) - 1) for stride in strides]


def _with_member(octets: bytes, name: str, content: bytes) -> bytes:
    """Another content of what has this name below the archive's folder."""
    members = members_of(octets)
    return packed((own, content if own.endswith(name) else old) for own, old in members)


TORCH = (change_inputs, change_inputs, change_inputs, change_weight)
