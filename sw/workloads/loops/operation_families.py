"""Families of operations that take the same inputs: shapes by name, and a detail of each.

The detail is the last part of ``embedding_bag:rm1:L0`` or ``spmm:arxiv:1024``, and may be left out.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.sparse

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.workloads.loops.operation_inputs import (
    BLOCKS,
    GRAPHS,
    LOCALITIES,
    RECOMMENDATION_MODELS,
    RELATIONS,
    TABLE_ROWS,
    BagShape,
    block_gather_inputs,
    embedding_bag_inputs,
    fiber,
    graph_inputs,
    knowledge_graph_inputs,
    normal,
)
from gnarl.sw.workloads.tensor.tensor_files import load_tensor

Arrays = dict[str, np.ndarray]

TINY = "tiny"
"""The shape of every family that is for tests."""

_TINY_BAGS = BagShape(6, 16, 4)
_TINY_ROWS = 64

VERTICES = 2048
"""Vertices of graphs, where the detail does not say: with any mean degree they fit 8 MiB of
memory."""

_MOST_VERTICES = 1 << 20
_GRAPH_DIM = 128
_TINY_VERTICES, _TINY_DEGREE, _TINY_DIM = 24, 4, 16

_SAMPLES = 1024
_TOKENS = 4096
_LENGTH, _ROWS = 16_384, 128
_MATRIX = frozenset(("offsets", "indices", "row", "column", "values"))
"""What ``_with_vectors`` makes of a matrix alone."""

_SHARES = {"p1": 0.01, "p10": 0.1, "p50": 0.5}


@dataclass(frozen=True, eq=False)
class Inputs:
    """``arrays``, and ``sizes`` that may not follow from them, of all operations of a family.

    ``of_file``: arrays that a file has; all others are random.
    """

    arrays: Arrays
    sizes: dict[str, int]
    of_file: frozenset[str] = frozenset()


class Family(ABC):
    """A family of operations. ``shapes``: names. ``detail``: what the name's last part says, empty
    if there is none."""

    shapes: tuple[str, ...]
    detail: ClassVar[str] = ""

    def is_shape(self, shape: str) -> bool:
        return shape in self.shapes

    @abstractmethod
    def inputs(self, shape: str, detail: str | None, seed: int) -> Inputs:
        """Random values follow from the seed. Raises ``WorkloadError`` for the detail."""


class Bags(Family):
    shapes = (TINY, *RECOMMENDATION_MODELS)
    detail = "LOCALITY"

    def inputs(self, shape: str, detail: str | None, seed: int) -> Inputs:
        locality = "L0" if detail is None else detail
        if locality not in LOCALITIES:
            raise WorkloadError(f"no locality {locality!r}: {nearest(locality, LOCALITIES)}")
        if shape == TINY:
            return Inputs(embedding_bag_inputs(_TINY_BAGS, locality, seed, _TINY_ROWS), {})
        found = embedding_bag_inputs(RECOMMENDATION_MODELS[shape], locality, seed, TABLE_ROWS)
        return Inputs(found, {})


class Gathers(Family):
    """Shapes b1 to b8 have blocks of so many tokens.

    ``per_query``: whether each query of a block has a result of its own. There are then fewer
    tokens, so that results are as large.
    """

    shapes = (TINY, *(f"b{block}" for block in BLOCKS))

    def __init__(self, per_query: bool) -> None:
        self._per_query = per_query

    def inputs(self, shape: str, detail: str | None, seed: int) -> Inputs:
        if shape == TINY:
            return Inputs(block_gather_inputs(2, 16, 2, 8, seed), {})
        block = int(shape[1:])
        tokens = _TOKENS // block if self._per_query else _TOKENS
        return Inputs(block_gather_inputs(block, tokens, seed=seed), {})


class Graphs(Family):
    """Adjacency matrices of power-law graphs with table III's mean degrees, or of files."""

    shapes = (TINY, *(name for name in GRAPHS if name not in RELATIONS))
    detail = "VERTICES"

    def is_shape(self, shape: str) -> bool:
        return super().is_shape(shape) or shape.endswith(".mtx")

    def inputs(self, shape: str, detail: str | None, seed: int) -> Inputs:
        if shape.endswith(".mtx"):
            if detail is not None:
                raise WorkloadError(f"vertices {detail!r}: a file's must be left out")
            return replace(_with_vectors(_adjacency(shape), _GRAPH_DIM, seed), of_file=_MATRIX)
        if shape == TINY:
            vertices, degree, dim = _TINY_VERTICES, float(_TINY_DEGREE), _TINY_DIM
        else:
            graph = GRAPHS[shape]
            vertices, degree, dim = VERTICES, graph.edges / graph.vertices, graph.dim
        if detail is not None:
            vertices = _whole(detail, "vertices", _MOST_VERTICES)
        arrays = graph_inputs(vertices, degree, seed)
        parts = arrays["values"], arrays["indices"], arrays["offsets"]
        matrix = scipy.sparse.csr_array(parts, shape=(vertices, vertices))
        return _with_vectors(matrix, dim, seed)


class KnowledgeGraphs(Family):
    """Entities and relations of table III's graphs, and 1,024 samples, drawn evenly."""

    shapes = (TINY, *RELATIONS)
    detail = "ENTITIES"

    def inputs(self, shape: str, detail: str | None, seed: int) -> Inputs:
        entities = _TINY_VERTICES if shape == TINY else VERTICES
        if detail is not None:
            entities = _whole(detail, "entities", _MOST_VERTICES)
        if shape == TINY:
            return Inputs(knowledge_graph_inputs(6, entities, 4, _TINY_DIM, seed), {})
        found = knowledge_graph_inputs(
            _SAMPLES, entities, RELATIONS[shape], GRAPHS[shape].dim, seed
        )
        return Inputs(found, {})


class Vectors(Family):
    """Two sparse vectors of 16,384 elements; of shape p10, each has a tenth of them."""

    shapes = (TINY, *_SHARES)

    def inputs(self, shape: str, detail: str | None, seed: int) -> Inputs:
        random = np.random.default_rng(seed)
        length = 40 if shape == TINY else _LENGTH
        entries = round(length * _SHARES.get(shape, 0.4))
        arrays = {}
        for side in ("left", "right"):
            arrays[side], arrays[f"{side}_values"] = fiber(random, length, entries)
        return Inputs(arrays, {"length": length})


class Matrices(Family):
    """Two sparse matrices of 128 x 128 elements; of shape p10, about a tenth of them each. Of a
    file, its matrix, and that with each column in the next one's place, the last in the first's.
    """

    shapes = (TINY, *_SHARES)

    def is_shape(self, shape: str) -> bool:
        return super().is_shape(shape) or shape.endswith(".mtx")

    def inputs(self, shape: str, detail: str | None, seed: int) -> Inputs:
        if shape.endswith(".mtx"):
            left = _adjacency(shape)
            shifted = (left.indices + 1) % left.shape[1]
            parts = left.data, shifted, left.indptr
            right = scipy.sparse.csr_array(parts, shape=left.shape).sorted_indices()
        else:
            random = np.random.default_rng(seed)
            rows = 8 if shape == TINY else _ROWS
            share = _SHARES.get(shape, 0.4)
            left, right = (_random_matrix(random, rows, share) for _ in range(2))
        arrays = {}
        for side, matrix in (("left", left), ("right", right)):
            arrays[f"{side}_offsets"] = matrix.indptr.astype(np.int32)
            arrays[side] = matrix.indices.astype(np.int32)
            arrays[f"{side}_values"] = matrix.data
        rows, columns = left.shape
        of_file = frozenset(arrays if shape.endswith(".mtx") else ())
        return Inputs(arrays, {"rows": rows, "columns": columns}, of_file)


def nearest(name: str, known: Iterable[str]) -> str:
    """What an error text says of names that there are."""
    names = list(known)
    near = difflib.get_close_matches(name, names)
    return f"nearest: {near[0]}" if near else f"must be one of {', '.join(names)}"


def _whole(text: str, what: str, most: int) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0
    if not 1 <= number <= most:
        raise WorkloadError(f"{what} {text!r}: must be a whole number from 1 to {most}")
    return number


def _adjacency(path: str) -> scipy.sparse.csr_array:
    tensor = load_tensor(path)
    if max(tensor.shape) > _MOST_VERTICES:
        raise WorkloadError(
            f"{path}: {tensor.shape[0]} x {tensor.shape[1]}: must be at most {_MOST_VERTICES} each"
        )
    with np.errstate(over="ignore"):
        values = tensor.values.astype(np.float32)
    if np.isinf(values).any():
        first = tensor.values[np.isinf(values)][0]
        raise WorkloadError(f"{path}: {first} is beyond float32: must be at most 3.4028235e+38")
    row, column = tensor.coordinates.T
    offsets = _offsets(np.bincount(row, minlength=tensor.shape[0]))
    return scipy.sparse.csr_array((values, column, offsets), shape=tensor.shape)


def _random_matrix(random: np.random.Generator, side: int, share: float) -> scipy.sparse.csr_array:
    present = random.random((side, side)) < share
    columns = np.nonzero(present)[1]
    parts = normal(random, len(columns)), columns, _offsets(present.sum(axis=1))
    return scipy.sparse.csr_array(parts, shape=present.shape)


def _with_vectors(matrix: scipy.sparse.csr_array, dim: int, seed: int) -> Inputs:
    """Inputs of products with it: its entries by rows and by coordinates, and dense vectors."""
    random = np.random.default_rng([seed, 1])  # apart from the graph's
    rows, columns = matrix.shape
    vectors = normal(random, columns, dim)
    arrays = {
        "offsets": matrix.indptr.astype(np.int32),
        "indices": matrix.indices.astype(np.int32),
        "row": np.repeat(np.arange(rows, dtype=np.int32), np.diff(matrix.indptr)),
        "column": matrix.indices.astype(np.int32),
        "values": matrix.data,
        "dense": vectors,
        "neighbour": vectors,
        "vertex": normal(random, rows, dim),
    }
    return Inputs(arrays, {"rows": rows})


def _offsets(counts: np.ndarray) -> np.ndarray:
    """Offsets at which each of so many begins and the last ends, int32."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
