"""Reads recommendation models: RecFlex's configuration files, or Python files.

A folder has two files. ``table_config.txt`` has a line ``rows,dim`` for each table.
``data_config.txt`` says how the features look them up, in their order; a line is one of

    one-hot,COUNT,coverage
    multi-hot,COUNT,mean,std,maximum,coverage
    multi-hot-static,COUNT,mean,coverage
    multi-hot-one-side,COUNT,mean,std,coverage

for the next COUNT features, all of them summed in float32 with indices of 64 bits. Source: the
artefact of the RecFlex paper, README of its data synthesis.

A Python file defines ``model``, an ``EmbeddingModel``. It is executed, and so only at the user's
word: ``python_allowed``, or a name, ``FILE.py:NAME``, of the model or of a function without
parameters that gives it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from gnarl.hw.lib.errors import WorkloadError, short
from gnarl.hw.lib.text_lines import BLANKS, text_lines
from gnarl.sw.program.atomic import write_text
from gnarl.sw.program.python_files import is_python_allowed, split_name
from gnarl.sw.workloads.embedding.model import (
    MAXIMUM_DIM,
    MAXIMUM_ROWS,
    EmbeddingModel,
    Feature,
    PoolingFactors,
)
from gnarl.sw.workloads.executed_file import executed_value
from gnarl.sw.workloads.text_file import read_text, real_number, whole_number

TABLES = "table_config.txt"
DATA = "data_config.txt"
MODEL = "model"
"""What a Python file calls its model, if no name is given."""

MAXIMUM_FEATURES = 1 << 16

_FIELDS = {
    "one-hot": ("coverage",),
    "multi-hot": ("mean", "std", "maximum", "coverage"),
    "multi-hot-static": ("mean", "coverage"),
    "multi-hot-one-side": ("mean", "std", "coverage"),
}
"""What follows COUNT, for each type: fields of ``PoolingFactors``."""


_EXAMPLE_FEATURES = ("one-hot,16,1.0", "multi-hot,8,20,10,50,0.8", "multi-hot-static,4,50,0.5")
_EXAMPLE_TABLES = ((1024, 4), (4096, 8), (1024, 16), (2048, 32), (4096, 64), (1024, 128), (999, 7))


def write_example(folder: Path) -> Path:
    """A folder of a small recommendation model: 28 features of seven table shapes."""
    model = folder / "recommendation"
    model.mkdir(exist_ok=True)
    count = sum(int(line.split(",")[1]) for line in _EXAMPLE_FEATURES)
    shapes = [_EXAMPLE_TABLES[at % len(_EXAMPLE_TABLES)] for at in range(count)]
    write_text(model / DATA, "".join(f"{line}\n" for line in _EXAMPLE_FEATURES))
    write_text(model / TABLES, "".join(f"{rows},{dim}\n" for rows, dim in shapes))
    return model


def is_model(source: str | Path) -> bool:
    """Whether it is a folder, or a Python file that gives something the name ``model``, or the name
    behind a colon. A file with a nest is none without the user's word to execute it."""
    file, name = split_name(source)
    path = Path(file)
    if path.suffix != ".py" or not path.is_file():
        return path.is_dir() and not name
    try:
        body = ast.parse(read_text(path)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if not name and not is_python_allowed() and any(map(_has_mark, body)):
        return False
    return any(_gives(statement, name or MODEL, bool(name)) for statement in body)


def _has_mark(statement: ast.stmt) -> bool:
    """Whether it is a function that says of itself to be a nest."""
    marks = statement.decorator_list if isinstance(statement, ast.FunctionDef) else []
    return any(ast.unparse(each).rpartition(".")[2] == "nest" for each in marks)


def _gives(statement: ast.stmt, name: str, or_function: bool) -> bool:
    """Whether it gives a value the name; a function without parameters, too, if ``or_function``."""
    match statement:
        case ast.FunctionDef(name=own, args=arguments):
            return or_function and own == name and ast.unparse(arguments) == ""
        case ast.ClassDef() | ast.AsyncFunctionDef():
            return False
        case ast.Import(names) | ast.ImportFrom(names=names):
            return name in [each.asname or each.name for each in names]
    return any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name
        for node in ast.walk(statement)
    )


def source_model(source: str | Path) -> EmbeddingModel:
    """The model of a folder, or of a Python file that may be executed. Raises ``WorkloadError``."""
    file, name = split_name(source)
    if Path(file).suffix == ".py" and Path(file).is_file() and not name and not is_python_allowed():
        raise WorkloadError(
            f"{file}: a model's Python file is executed: needs --allow-python, or a name, as "
            f"{file}:{MODEL}"
        )
    return load_model(file, name or MODEL)


def load_model(path: str | Path, name: str = MODEL) -> EmbeddingModel:
    """The model that a folder or Python file describes, which is executed: a caller asks the user.

    ``name``: of the model in a Python file. Raises ``WorkloadError`` naming file and line.
    """
    path = Path(path)
    if path.is_dir():
        return _load_folder(path)
    if path.suffix == ".py":
        return _load_python(path, name)
    if not path.exists():
        raise WorkloadError(f"{path}: No such file or directory")
    raise WorkloadError(
        f"{path}: must be a folder with {TABLES} and {DATA}, or a .py file that defines model"
    )


def _load_folder(folder: Path) -> EmbeddingModel:
    shapes = _shapes(folder / TABLES)
    factors = _factors(folder / DATA)
    if len(factors) != len(shapes):
        raise WorkloadError(
            f"{folder / DATA}: describes {len(factors)} features: must be {len(shapes)}, as "
            f"{folder / TABLES} has tables"
        )
    return EmbeddingModel(
        folder.resolve().name,
        tuple(
            Feature(f"f{number}", rows, dim, factors=pooling_factors)
            for number, ((rows, dim), pooling_factors) in enumerate(
                zip(shapes, factors, strict=True)
            )
        ),
    )


def _lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Place and fields of each line that is not blank."""
    for number, line in enumerate(text_lines(read_text(path)), 1):
        if line.strip(BLANKS):
            yield f"{path}:{number}", [field.strip(BLANKS) for field in line.split(",")]


def _shapes(path: Path) -> list[tuple[int, int]]:
    shapes = []
    for place, fields in _lines(path):
        if len(fields) != 2:
            raise WorkloadError(f"{place}: {short(','.join(fields))!r}: must be rows,dim")
        rows = _whole("rows", fields[0], MAXIMUM_ROWS, place)
        shapes.append((rows, _whole("dim", fields[1], MAXIMUM_DIM, place)))
    if not shapes:
        raise WorkloadError(f"{path}: the file has no tables: must have a line rows,dim for each")
    return shapes


def _factors(path: Path) -> list[PoolingFactors]:
    factors: list[PoolingFactors] = []
    for place, fields in _lines(path):
        if fields[0] not in _FIELDS:
            raise WorkloadError(
                f"{place}: feature type {short(fields[0])!r}: must be one of {', '.join(_FIELDS)}"
            )
        names = _FIELDS[fields[0]]
        if len(fields) != 2 + len(names):
            raise WorkloadError(
                f"{place}: {len(fields)} fields: must be {','.join([fields[0], 'COUNT', *names])}"
            )
        count = _whole("COUNT", fields[1], MAXIMUM_FEATURES, place)
        values = dict(zip(names, fields[2:], strict=True))
        factors += [_pooling_factors(values, place)] * count
    return factors


def _pooling_factors(values: dict[str, str], place: str) -> PoolingFactors:
    maximum = whole_number(values["maximum"], place) if "maximum" in values else None
    reals = {name: real_number(text, place) for name, text in values.items() if name != "maximum"}
    factors = PoolingFactors(maximum=maximum, **reals)
    if violation := factors.violation():
        raise WorkloadError(f"{place}: {violation}")
    return factors


def _whole(name: str, text: str, high: int, place: str) -> int:
    number = whole_number(text, place)
    if not 1 <= number <= high:
        raise WorkloadError(f"{place}: {name} = {number}: must be from 1 to {high}")
    return number


def _load_python(path: Path, name: str) -> EmbeddingModel:
    model = executed_value(path, name)
    if model is None:
        raise WorkloadError(
            f"{path}: defines no {name}: must define an EmbeddingModel of that name"
        )
    if not isinstance(model, EmbeddingModel):
        raise WorkloadError(f"{path}: {name} is {type(model).__name__}: must be an EmbeddingModel")
    return model
