"""Random loop nests that are valid, and values for them."""

from __future__ import annotations

from random import Random

import numpy as np

from gnarl.sw.workloads.loops.ir.nest import (
    Array,
    Assign,
    AugmentedStore,
    Binary,
    BinaryOperator,
    Cast,
    Constant,
    Expression,
    Fiber,
    For,
    If,
    Load,
    Merge,
    MergeKind,
    Nest,
    Scalar,
    Select,
    Size,
    Statement,
    Store,
    Unary,
    UnaryOperator,
    Variable,
)
from gnarl.sw.workloads.loops.ir.scalar_type import BOOL, BY_NAME, FLOAT32, INT32, ScalarType
from gnarl.sw.workloads.place import Location

_SHAPES = {
    "x": ("float32", "n", "m"),
    "y": ("float32", "m"),
    "a": ("int8", "n"),
    "b": ("uint16", "m"),
    "c": ("int32", "n", "m"),
    "d": ("uint32", "m"),
    "i": ("int32", "n"),
    "j": ("uint8", "m"),
}
_COORDINATES = ("i", "j")
_LOCALS = {"f": FLOAT32, "s": BY_NAME["int16"], "t": INT32, "u": BY_NAME["uint32"], "g": BOOL}
_FLOATS = (0.0, -0.0, 1.0, -1.5, 0.1, 3e38, -1e-45, 1.2e-38, float("inf"), 16777217.0)


class RandomNest:
    """``nest()`` gives one, in which most indices, shifts and divisors are right."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._line = 0
        self._loops = 0

    def nest(self, statements: int = 4, depth: int = 3) -> Nest:
        sizes = tuple(Size(name, self._place()) for name in "nm")
        parameters: list[Array | Scalar] = []
        for name, (type, *shape) in _SHAPES.items():
            dimensions = tuple(Variable(size, INT32, self._place()) for size in shape)
            parameters.append(Array(name, BY_NAME[type], dimensions, self._place()))
        parameters.append(Scalar("p", FLOAT32, self._place()))
        parameters.append(Scalar("q", BY_NAME["int8"], self._place()))
        known = {"n": INT32, "m": INT32, "p": FLOAT32, "q": BY_NAME["int8"]}
        body = self._block(known, statements, depth)
        return Nest("random_nest", sizes, tuple(parameters), body, self._place())

    def _place(self) -> Location:
        """Each node has its own."""
        self._line += 1
        return Location("random.py", self._line, 1)

    def _block(
        self, known: dict[str, ScalarType], statements: int, depth: int
    ) -> tuple[Statement, ...]:
        """Adds to ``known`` what has a value after it."""
        count = self._random.randint(1, statements)
        return tuple(self._statement(known, depth) for _ in range(count))

    def _statement(self, known: dict[str, ScalarType], depth: int) -> Statement:
        kinds = [self._store, self._store, self._augmented, self._assign]
        if depth:
            kinds += [self._for, self._for, self._merge, self._if]
        return self._random.choice(kinds)(known, depth)

    def _store(self, known: dict[str, ScalarType], depth: int) -> Statement:
        array, indices, type = self._element(known, self._results())
        return Store(array, indices, self._expression(type, known), self._place())

    def _augmented(self, known: dict[str, ScalarType], depth: int) -> Statement:
        array, indices, type = self._element(known, self._results())
        operator = self._random.choice("+ - *".split() + ["/"] * (type == FLOAT32))
        value = self._expression(type, known)
        return AugmentedStore(BinaryOperator(operator), array, indices, value, self._place())

    def _assign(self, known: dict[str, ScalarType], depth: int) -> Statement:
        name, type = self._random.choice(list(_LOCALS.items()))
        value = self._expression(type, known)
        known[name] = type
        return Assign(name, value, self._place())

    def _for(self, known: dict[str, ScalarType], depth: int) -> Statement:
        variable = self._variable("k")
        lower: Expression = self._integer(0)
        upper = self._name(self._random.choice("nm"), INT32)
        if self._random.random() < 0.3:
            lower, upper = (
                Binary(BinaryOperator.REMAINDER, self._expression(INT32, known), upper, place)
                for place in (self._place(), self._place())
            )
        inner = {**known, variable: INT32}
        body = self._block(inner, 2, depth - 1)
        return For(variable, lower, upper, self._random.choice((1, 1, 2)), body, self._place())

    def _merge(self, known: dict[str, ScalarType], depth: int) -> Statement:
        kind = self._random.choice(list(MergeKind))
        names = [self._variable(prefix) for prefix in ("k", "p", "q", "has", "has")]
        present = tuple(names[3:]) if kind == MergeKind.UNION else ()
        fibers = (self._fiber(known), self._fiber(known))
        inner = known | dict.fromkeys(names[:3], INT32) | dict.fromkeys(present, BOOL)
        body = self._block(inner, 2, depth - 1)
        positions = (names[1], names[2])
        return Merge(kind, names[0], positions, present, fibers, body, self._place())

    def _fiber(self, known: dict[str, ScalarType]) -> Fiber:
        array = self._random.choice(_COORDINATES)
        lower: Expression = self._integer(self._random.randint(0, 1))
        if self._random.random() < 0.1:
            lower = self._expression(INT32, known)
        return Fiber(array, lower, self._name(_SHAPES[array][1], INT32), self._place())

    def _if(self, known: dict[str, ScalarType], depth: int) -> Statement:
        condition = self._expression(BOOL, known)
        branches = dict(known), dict(known)
        then = self._block(branches[0], 2, depth - 1)
        otherwise = self._block(branches[1], 2, depth - 1) if self._random.random() < 0.5 else ()
        if otherwise:
            known |= {name: branches[0][name] for name in branches[0] if name in branches[1]}
        return If(condition, then, otherwise, self._place())

    def _variable(self, prefix: str) -> str:
        self._loops += 1
        return f"{prefix}{self._loops}"

    def _results(self) -> list[str]:
        return [name for name in _SHAPES if name not in _COORDINATES]

    def _element(
        self, known: dict[str, ScalarType], arrays: list[str]
    ) -> tuple[str, tuple[Expression, ...], ScalarType]:
        name = self._random.choice(arrays)
        type, *shape = _SHAPES[name]
        return name, tuple(self._index(size, known) for size in shape), BY_NAME[type]

    def _index(self, size: str, known: dict[str, ScalarType]) -> Expression:
        index = self._expression(INT32, known, 1)
        if self._random.random() < 0.02 and not isinstance(index, Constant):
            return index
        return Binary(BinaryOperator.REMAINDER, index, self._name(size, INT32), self._place())

    def _name(self, name: str, type: ScalarType) -> Variable:
        return Variable(name, type, self._place())

    def _integer(self, value: int, type: ScalarType = INT32) -> Constant:
        return Constant(value, type, self._place())

    def _leaf(self, type: ScalarType, known: dict[str, ScalarType]) -> Expression:
        names = [name for name, each in known.items() if each == type]
        arrays = [name for name, (each, *_) in _SHAPES.items() if each == type.name]
        if names and self._random.random() < 0.5:
            return self._name(self._random.choice(names), type)
        if arrays and self._random.random() < 0.4:
            array, indices, _ = self._element(known, arrays)
            return Load(array, indices, type, self._place())
        if type == BOOL:
            return Constant(self._random.random() < 0.5, BOOL, self._place())
        if type == FLOAT32:
            value = float(np.float32(self._random.choice(_FLOATS)))
            return Constant(value, FLOAT32, self._place())
        small = self._random.randint(max(type.least, -3), 3)
        return self._integer(self._random.choice((type.least, type.most, small, small)), type)

    def _expression(
        self, type: ScalarType, known: dict[str, ScalarType], depth: int = 3
    ) -> Expression:
        if depth == 0 or self._random.random() < 0.25:
            return self._leaf(type, known)

        def part(type: ScalarType = type) -> Expression:
            return self._expression(type, known, depth - 1)

        if self._random.random() < 0.15:
            return Select(part(BOOL), part(), part(), self._place())
        if type == BOOL:
            return self._condition(known, depth)
        if self._random.random() < 0.15:
            given = self._random.choice([each for each in BY_NAME.values() if each != BOOL])
            if given != FLOAT32 or type == FLOAT32 or self._random.random() < 0.1:
                return Cast(type, part(given), self._place())
        operators: list[str] = ["+", "-", "*", "min", "max"]
        operators += ["-x", "abs", "sqrt", "/"] if type == FLOAT32 else ["-x", "abs", "//", "%"]
        operator = self._random.choice(operators + ["<<", ">>"] * type.is_integer)
        if operator in ("-x", "abs", "sqrt"):
            return Unary(UnaryOperator(operator.rstrip("x")), part(), self._place())
        right = part()
        if operator in ("//", "%", "<<", ">>") and self._random.random() < 0.9:
            right = self._integer(self._random.choice((1, 2, 3, 7)), type)
        return Binary(BinaryOperator(operator), part(), right, self._place())

    def _condition(self, known: dict[str, ScalarType], depth: int) -> Expression:
        operator = BinaryOperator(self._random.choice("< <= > >= == != and or".split()))
        type = BOOL
        if operator not in ("and", "or"):
            type = self._random.choice([each for each in BY_NAME.values() if each != BOOL])
        left, right = (self._expression(type, known, depth - 1) for _ in range(2))
        found: Expression = Binary(operator, left, right, self._place())
        if self._random.random() < 0.2:
            found = Unary(UnaryOperator.NOT, found, self._place())
        return found


def random_values(random: Random) -> dict[str, np.ndarray]:
    """Values of all parameters of a ``RandomNest``, sizes from 0 to 5."""
    generator = np.random.default_rng(random.getrandbits(32))
    sizes = {"n": random.choice((0, 1, 1, 2, 3, 3, 4, 4, 5)), "m": random.choice((1, 2, 4))}
    values: dict[str, np.ndarray] = {"p": np.array(random.choice(_FLOATS), np.float32)}
    values["q"] = np.array(random.randint(-128, 127), np.int8)
    for name, (type, *shape) in _SHAPES.items():
        count = [sizes[size] for size in shape]
        if name in _COORDINATES:
            values[name] = np.sort(generator.choice(8, count[0], replace=False)).astype(type)
        elif type == "float32":
            bits = generator.integers(0, 2**32, count, np.uint32).view(np.float32)
            with np.errstate(invalid="ignore"):
                plain = generator.integers(-8, 9, count).astype(np.float32) / np.float32(4)
            values[name] = np.where(generator.random(count) < 0.2, bits, plain)
        else:
            limits = np.iinfo(type)
            values[name] = generator.integers(limits.min, limits.max, count, type, endpoint=True)
    return values
