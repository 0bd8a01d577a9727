"""Options of the notation of expressions and programs: formats, the order of loops, and lanes.

Each function takes an option's value and the column of its first character, and raises
``WorkloadError`` that names a column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gnarl.hw.lib.errors import quoted
from gnarl.hw.sam.block_types import DENSE
from gnarl.hw.sam.value_shape import BLOCK_WORDS
from gnarl.sw.workloads.tensor.columns import counted, fail
from gnarl.sw.workloads.tensor.lanes import ALLOWED_LANES, ways_of
from gnarl.sw.workloads.tensor.storage import LEVEL_FORMATS, TensorFormat

ALLOWED_WORDS = ", ".join(map(str, BLOCK_WORDS[1:-1])) + f" or {BLOCK_WORDS[-1]}"

_LEVELS = ", ".join(f"{letter} ({name})" for letter, name in LEVEL_FORMATS.items())
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_OPTION = re.compile(  # blanks are allowed in brackets
    r"(?:^|(?<=\s))-(?P<kind>[a-z]+)="
    r"(?P<quote>[\"']?)(?P<value>(?:[^\"'\s()]|\([^()]*\))*)(?P=quote)"
)


def split_options(text: str, max_length: int) -> tuple[str, list[re.Match[str]]]:
    """The text before the options, and these, each with its ``kind`` and ``value``.

    Raises ``WorkloadError`` for more than ``max_length`` characters, and naming the column of what
    stands behind options and is none.
    """
    if len(text) > max_length:
        fail(max_length + 1, f"{len(text):,} characters are too many; at most {max_length:,}")
    options = list(_OPTION.finditer(text))
    ends = [*(option.start() for option in options[1:]), len(text)]
    for option, stop in zip(options, ends, strict=False):
        rest = text[option.end() : stop]
        if rest.strip():
            column = option.end() + 1 + len(rest) - len(rest.lstrip())
            fail(column, "options come last and have the form -f=TENSOR:LEVELS or -s=reorder(i,j)")
    return text[: options[0].start() if options else len(text)], options


class FormatOptions:
    """Formats that options give to tensors of such orders."""

    def __init__(self, orders: Mapping[str, int]) -> None:
        self._orders = orders
        self.chosen: dict[str, TensorFormat] = {}

    def add(self, value: str, column: int) -> None:
        """Adds that of one option."""
        tensor, levels = parse_format(value, column, self._orders)
        if tensor in self.chosen:
            fail(column, f"tensor {tensor} has a format already; give each tensor one -f")
        self.chosen[tensor] = levels

    def format(self, tensor: str) -> TensorFormat:
        """The format of a tensor; dense, in the order of its modes, where no option gives one."""
        count = self._orders[tensor]
        return self.chosen.get(tensor, TensorFormat((DENSE,) * count, tuple(range(count))))


def parse_format(value: str, column: int, orders: Mapping[str, int]) -> tuple[str, TensorFormat]:
    """``B:ss:1,0`` with the position of its first character."""
    tensor, *parts = value.split(":")
    if tensor not in orders:
        names = ", ".join(orders)
        shown = f"tensor {tensor}" if tensor else "an empty name"
        fail(column, f"-f names {shown}, which is not in the expression; it has {names}")
    if not 1 <= len(parts) <= 2:
        fail(column, f"-f={value} must be TENSOR:LEVELS or TENSOR:LEVELS:MODES, such as B:ss:1,0")
    levels, count = parts[0], orders[tensor]
    column += len(tensor) + 1
    for place, level in enumerate(levels):
        if level not in LEVEL_FORMATS:
            fail(column + place, f"level format {quoted(level)} must be one of {_LEVELS}")
    if len(levels) != count:
        fail(
            column,
            f"format {levels or '(empty)'} has {counted(len(levels), 'level')}, but tensor "
            f"{tensor} has {counted(count, 'index', 'indices')}; it must have one level for each",
        )
    modes = tuple(range(count))
    if len(parts) == 2 and (count or parts[1]):
        column += len(levels) + 1
        texts = parts[1].split(",")
        if sorted(texts) != sorted(map(str, modes)):
            wanted = ", ".join(map(str, modes)) or "nothing"
            fail(column, f"mode order {parts[1] or '(empty)'} must name each of {wanted} once")
        modes = tuple(map(int, texts))
    return tensor, TensorFormat(tuple(LEVEL_FORMATS[level] for level in levels), modes)


def parse_reorder(value: str, column: int, indices: tuple[str, ...]) -> tuple[str, ...]:
    """``reorder(i,k,j)`` with the position of its first character."""
    match = re.fullmatch(r"reorder\((.*)\)", value)
    if match is None:
        fail(
            column,
            f"-s={value} must be reorder(…) with every index, outermost first, "
            "parallelize(i,N), or block(j,N)",
        )
    return parse_order(match[1], column + match.start(1), indices)


def parse_order(text: str, column: int, indices: tuple[str, ...]) -> tuple[str, ...]:
    """``i,k,j`` with the position of its first character."""
    names: list[str] = []
    for part in text.split(",") if text.strip() else []:
        name = part.strip()
        at = column + len(part) - len(part.lstrip())
        column += len(part) + 1
        if not _NAME.fullmatch(name) or name not in indices:
            known = ", ".join(indices) or "no index"
            fail(at, f"index {quoted(name)} is not in the expression; it has {known}")
        if name in names:
            fail(at, f"index {name} appears twice in the loop order")
        names.append(name)
    missing = [index for index in indices if index not in names]
    if missing:
        fail(column, f"index {missing[0]} is missing in the loop order; it must name every index")
    return tuple(names)


def parse_parallelize(value: str, column: int, indices: tuple[str, ...]) -> tuple[str, int]:
    """``parallelize(i,4)`` with the position of its first character."""
    wanted = f"parallelize(i,N) with an index and N lanes, {ALLOWED_LANES}"
    return _parse_number_of("parallelize", value, column, indices, ways_of, wanted)


def parse_block(value: str, column: int, indices: tuple[str, ...]) -> tuple[str, int]:
    """``block(j,4)`` with the position of its first character."""
    wanted = f"block(j,N) with an index and N words, {ALLOWED_WORDS}"
    return _parse_number_of("block", value, column, indices, BLOCK_WORDS[1:].__contains__, wanted)


def _parse_number_of(
    name: str,
    value: str,
    column: int,
    indices: tuple[str, ...],
    is_allowed: Callable[[int], object],
    wanted: str,
) -> tuple[str, int]:
    """An index, and how many of something it has."""
    match = re.fullmatch(rf"{name}\(\s*(\w+)\s*,\s*([0-9]{{1,4}})\s*\)", value)
    if match is None or not is_allowed(int(match[2])):
        fail(column, f"-s={value} must be {wanted}")
    if match[1] not in indices:
        known = ", ".join(indices) or "no index"
        place = column + match.start(1)
        fail(place, f"index {quoted(match[1])} is not in the expression; it has {known}")
    return match[1], int(match[2])
