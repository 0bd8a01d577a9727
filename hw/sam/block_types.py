"""Every type of SAM block: its streams, parameters, settings and arrays.

The one table that generator, compiler, model, importers and tests read. Names of ports are those of
the components' members; names of types are those of the SAM tools' files where they have one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gnarl.hw.sam.value_shape import ValueShape

CRD, REF, VAL, REPSIG, BV = "crd", "ref", "val", "repsig", "bv"
"""Kinds of streams: coordinates, references, values, repeat signals, words of bitvectors."""

DENSE, COMPRESSED, BITVECTOR = "dense", "compressed", "bitvector"
LEVEL_FORMATS = (DENSE, COMPRESSED, BITVECTOR)

BITVECTOR_BITS = 32
"""Coordinates to a word of a bitvector level."""

ALU_OPERATIONS = ("add", "sub", "mul", "max", "min")
FUNCTIONS = ("relu", "exp", "reciprocal", "sqrt", "gelu", "sigmoid", "tanh", "log")
REDUCTIONS = ("add", "max")
MAX_ACCUMULATOR_ORDER = 2
MAX_LANES = 16
"""Of a block; a loop may have more, by trees of blocks."""
SUM_LANES = (2, 4, 8, 16)
"""Lanes of a block that deals by bits of coordinates."""
DEALERS = ("parallelizer", "crdparallelizer")
"""Types of blocks that deal what comes in at ``i`` to lanes."""


@dataclass(frozen=True)
class Port:
    """A stream in or out: the kinds it may carry, and whether a graph may leave it open."""

    name: str
    kinds: tuple[str, ...]
    optional: bool = False

    @property
    def mixes_values(self) -> bool:
        """It may carry values, or something else."""
        return VAL in self.kinds and len(self.kinds) > 1


@dataclass(frozen=True)
class Parameter:
    """What a graph says of a block: ``allowed`` names the values, a tuple, or a type; that of
    ``ValueShape`` is the text of one."""

    name: str
    allowed: tuple[Any, ...] | type
    default: Any = None


@dataclass(frozen=True)
class Array:
    """A memory of a block: rows of ``words`` words, of ``index_bits`` or of the number format.

    ``writes``: the block writes it, else it reads it.
    """

    name: str
    words: int = 1
    of_values: bool = False
    writes: bool = False

    @property
    def value_words(self) -> int:
        """Words of a value, if there are any in a row."""
        return self.words if self.of_values else 1

    def rows(self, size: int) -> int:
        """How many there are where ``array_words``, or a size of its own, is ``size``."""
        return max(1, size // self.value_words)


ROW_COUNTS = {"seg": "fibers", "crd": "entries", "bv": "rows", "vals": "entries"}
"""The count that says how many rows of a written array there are, by the array's name."""


@dataclass(frozen=True)
class Setting:
    """A size of a tensor, which no graph has: the host sets it before a run.

    output
        that of the block whose coordinates are below the size; "": those of the block's index.
    coordinates
        how many of them a unit of the setting stands for; the last one may have fewer.
    """

    name: str
    output: str = ""
    coordinates: int = 1


Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class BlockType:
    """Ports, parameters, settings and arrays of a type of block.

    inputs, outputs
        functions of the block's parameters.
    settings
        what the host sets before a run, also functions of the parameters.
    counts
        names of what the host reads after a run: how much a writer has written.
    """

    name: str
    parameters: tuple[Parameter, ...]
    inputs: Callable[[Parameters], tuple[Port, ...]]
    outputs: Callable[[Parameters], tuple[Port, ...]]
    settings: Callable[[Parameters], tuple[Setting, ...]]
    arrays: Callable[[Parameters], tuple[Array, ...]]
    counts: Callable[[Parameters], tuple[str, ...]]


def _always(*items: Any) -> Callable[[Parameters], tuple[Any, ...]]:
    return lambda parameters: items


_NONE = _always()


def _type(
    name: str,
    inputs: tuple[Port, ...] | Callable[[Parameters], tuple[Port, ...]] = (),
    outputs: tuple[Port, ...] | Callable[[Parameters], tuple[Port, ...]] = (),
    *parameters: Parameter,
    settings: Callable[[Parameters], tuple[Setting, ...]] = _NONE,
    arrays: Callable[[Parameters], tuple[Array, ...]] = _NONE,
    counts: Callable[[Parameters], tuple[str, ...]] = _NONE,
) -> BlockType:
    return BlockType(
        name,
        parameters,
        inputs if callable(inputs) else _always(*inputs),
        outputs if callable(outputs) else _always(*outputs),
        settings,
        arrays,
        counts,
    )


def _ports(*named: str) -> tuple[Port, ...]:
    """Ports whose kind is their name's: ``out_crd`` and ``crd1`` carry coordinates."""
    return tuple(Port(name, (name.removeprefix("out_").rstrip("0123456789"),)) for name in named)


_INDEX = Parameter("index", str, "")
_TENSOR = Parameter("tensor", str, "")
_LEVEL = Parameter("level", int, 0)
_LANE = Parameter("lane", int, 0)
_BLOCK = Parameter("block", ValueShape, "")
_ANY = (CRD, REF, VAL)
_SIZE = Setting("size")
_WORDS = Setting("words", coordinates=BITVECTOR_BITS)


def _read_values(parameters: Parameters) -> tuple[Array, ...]:
    return (Array("vals", ValueShape.parse(parameters["block"]).words, of_values=True),)


def _written_values(parameters: Parameters) -> tuple[Array, ...]:
    words = ValueShape.parse(parameters["block"]).words
    return (Array("vals", words, of_values=True, writes=True),)


def _lookup_arrays(parameters: Parameters) -> tuple[Array, ...]:
    if parameters["format"] == DENSE:
        return ()
    return Array("seg", words=2), Array("crd")


def _written_arrays(parameters: Parameters) -> tuple[Array, ...]:
    return {
        DENSE: (),
        COMPRESSED: (Array("seg", words=2, writes=True), Array("crd", writes=True)),
        BITVECTOR: (Array("bv", words=2, writes=True),),
    }[parameters["format"]]


def _written_counts(parameters: Parameters) -> tuple[str, ...]:
    return {DENSE: (), COMPRESSED: ("fibers", "entries"), BITVECTOR: ("rows", "entries")}[
        parameters["format"]
    ]


def _accumulated(parameters: Parameters) -> tuple[str, ...]:
    return tuple(f"crd{place}" for place in range(parameters["order"] + 1))


def _accumulator_inputs(parameters: Parameters) -> tuple[Port, ...]:
    return _ports(*_accumulated(parameters), "val")


def _accumulator_outputs(parameters: Parameters) -> tuple[Port, ...]:
    return _ports(*(f"out_{name}" for name in _accumulated(parameters)[:-1]), "out_val")


def _lanes(prefix: str) -> Callable[[Parameters], tuple[Port, ...]]:
    return lambda parameters: tuple(
        Port(f"{prefix}{lane}", _ANY) for lane in range(parameters["lanes"])
    )


def _values_of_lanes(parameters: Parameters) -> tuple[Port, ...]:
    return Port("crd", (CRD,)), *(Port(f"i{lane}", (VAL,)) for lane in range(parameters["lanes"]))


_JOINS = ("crd0", (CRD,)), ("ref0", (REF, VAL)), ("crd1", (CRD,)), ("ref1", (REF, VAL))
_JOIN_INPUTS = tuple(Port(name, kinds) for name, kinds in _JOINS)
_JOIN_OUTPUTS = (*_ports("out_crd"), Port("out_ref0", (REF, VAL)), Port("out_ref1", (REF, VAL)))
_BV_JOIN_INPUTS = _ports("bv0", "ref0", "bv1", "ref1")
_OUTER_INNER = Port("outer", (CRD,)), Port("inner", (CRD, VAL))
_OUT_OUTER_INNER = Port("out_outer", (CRD,)), Port("out_inner", (CRD, VAL))
_COORDINATES = Port("outer", (CRD,)), Port("inner", (CRD,))
_OUT_COORDINATES = Port("out_outer", (CRD,)), Port("out_inner", (CRD,))
_LANES = Parameter("lanes", tuple(range(2, MAX_LANES + 1)), 2)
_SUM_LANES = Parameter("lanes", SUM_LANES, 2)

BLOCK_TYPES: dict[str, BlockType] = {
    kind.name: kind
    for kind in (
        _type("root", (), _ports("out_ref")),
        _type(
            "fiberlookup",
            _ports("ref"),
            _ports("out_crd", "out_ref"),
            _TENSOR,
            _LEVEL,
            _INDEX,
            Parameter("format", (DENSE, COMPRESSED), COMPRESSED),
            Parameter("skip", (False, True), False),
            settings=lambda parameters: (_SIZE,) if parameters["format"] == DENSE else (),
            arrays=_lookup_arrays,
        ),
        _type(
            "bitvectorlookup",
            _ports("ref"),
            _ports("out_bv", "out_ref"),
            _TENSOR,
            _LEVEL,
            _INDEX,
            settings=_always(_WORDS),
            arrays=_always(Array("bv", words=2)),
        ),
        _type("bitvectorexpand", _ports("bv", "ref"), _ports("out_crd", "out_ref"), _INDEX),
        _type(
            "bitvectorintersect", _BV_JOIN_INPUTS, _ports("out_crd", "out_ref0", "out_ref1"), _INDEX
        ),
        _type("bitvectorunion", _BV_JOIN_INPUTS, _ports("out_crd", "out_ref0", "out_ref1"), _INDEX),
        _type(
            "locate",
            _ports("crd", "ref"),
            _ports("out_ref"),
            _TENSOR,
            _LEVEL,
            _INDEX,
            settings=_always(_SIZE),
        ),
        _type(
            "repeat",
            (Port("ref", (REF, VAL)), Port("repsig", (REPSIG,))),
            (Port("out_ref", (REF, VAL)),),
            _TENSOR,
            _INDEX,
        ),
        _type("repsiggen", (Port("crd", _ANY),), _ports("out_repsig"), _INDEX),
        _type("intersect", _JOIN_INPUTS, _JOIN_OUTPUTS, _INDEX),
        _type("union", _JOIN_INPUTS, _JOIN_OUTPUTS, _INDEX),
        _type(
            "arrayvals",
            _ports("ref"),
            _ports("out_val"),
            _TENSOR,
            _BLOCK,
            arrays=_read_values,
        ),
        _type(
            "alu",
            _ports("val0", "val1"),
            _ports("out_val"),
            Parameter("op", ALU_OPERATIONS, "add"),
        ),
        _type("function", _ports("val"), _ports("out_val"), Parameter("op", FUNCTIONS, "relu")),
        _type(
            "reduce",
            (*_ports("val"), Port("crd", (CRD,), optional=True)),
            _ports("out_val"),
            Parameter("op", REDUCTIONS, "add"),
        ),
        _type(
            "fold",
            _ports("val"),
            _ports("out_val"),
            Parameter("op", REDUCTIONS, "add"),
            _BLOCK,
            _INDEX,
        ),
        _type(
            "spaccumulator",
            _accumulator_inputs,
            _accumulator_outputs,
            Parameter("order", tuple(range(1, MAX_ACCUMULATOR_ORDER + 1)), 1),
            Parameter("full0", (False, True), False),
            Parameter("full1", (False, True), False),
            settings=lambda parameters: tuple(
                Setting(f"size{place}", f"out_crd{place}") for place in range(parameters["order"])
            ),
        ),
        _type("crddrop", _OUTER_INNER, _OUT_OUTER_INNER),
        _type("crdhold", _COORDINATES, _OUT_COORDINATES),
        _type("valdrop", _ports("crd", "val"), _ports("out_crd", "out_val")),
        _type("crdtopoint", _COORDINATES, _OUT_COORDINATES),
        _type("pointtocrd", _COORDINATES, _OUT_COORDINATES),
        _type("parallelizer", (Port("i", _ANY),), _lanes("o"), _LANES),
        _type(
            "crdparallelizer",
            (Port("i", _ANY), Port("crd", (CRD,))),
            _lanes("o"),
            _SUM_LANES,
            Parameter("shift", tuple(range(6)), 0),
        ),
        _type("serializer", _lanes("i"), (Port("o", _ANY),), _LANES),
        _type("valserializer", _values_of_lanes, _ports("out_val"), _LANES),
        _type(
            "fiberwrite",
            _ports("crd"),
            (),
            _TENSOR,
            _LEVEL,
            _INDEX,
            Parameter("format", LEVEL_FORMATS, COMPRESSED),
            Parameter("keep_empty", (False, True), False),
            _LANE,
            settings=lambda parameters: (_WORDS,) if parameters["format"] == BITVECTOR else (),
            arrays=_written_arrays,
            counts=_written_counts,
        ),
        _type(
            "valwrite",
            _ports("val"),
            (),
            _TENSOR,
            _LANE,
            _BLOCK,
            arrays=_written_values,
            counts=_always("entries"),
        ),
    )
}
