"""Trees of frozen dataclasses as JSON; what is read is checked against the types of their fields.

A dataclass is a list: its name, or its ``NAME_IN_FILES``, and its fields in order. Tuples are
lists; numbers, texts and ``None`` are themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

_PLAIN = (int, float, str, bool, NoneType)


class Word(NamedTuple):
    """How values of a type that there are few of are written: as a text each."""

    write: Callable[[Any], str]
    read: Callable[[str], Any]


def encoded(value: Any, words: Mapping[type, Word] = {}) -> Any:
    """What ``json.dumps`` takes. ``words``: types that are written as texts. O(values)."""
    if type(value) in words:
        return words[type(value)].write(value)
    if isinstance(value, tuple):
        return [encoded(each, words) for each in value]
    if is_dataclass(value):
        parts = (getattr(value, each.name) for each in fields(value))
        return [_name(type(value)), *(encoded(part, words) for part in parts)]
    if isinstance(value, str):
        return str(value)  # of an enum, too
    if type(value) not in _PLAIN:
        raise TypeError(f"{value!r}: not supported")
    return value


def decoded(kind: Any, value: Any, words: Mapping[type, Word] = {}) -> Any:
    """Inverse of ``encoded``: a value of type ``kind``, which is a dataclass, a union, a tuple or a
    plain type. Raises ``ValueError`` for anything else. O(values)."""
    if kind in words:
        try:
            return words[kind].read(_of(str, value))
        except LookupError:
            raise ValueError(f"{value!r:.80}: must be a {kind.__name__}") from None
    if kind in _PLAIN:
        return _of(kind, value)
    arguments = get_args(kind)
    if get_origin(kind) is tuple:
        return _tuple(arguments, _of(list, value), words)
    if get_origin(kind) in (Union, UnionType):
        return decoded(_member(arguments, value, words), value, words)
    types = _field_types(kind)
    if not _is_tagged(kind, value) or len(value) != 1 + len(types):
        raise ValueError(f"{value!r:.80}: must be a {_name(kind)} of {len(types)} fields")
    pairs = zip(types, value[1:], strict=True)
    return kind(*(decoded(each, part, words) for each, part in pairs))


def _tuple(
    arguments: Sequence[Any], values: list[Any], words: Mapping[type, Word]
) -> tuple[Any, ...]:
    if arguments[-1] is Ellipsis:
        return tuple(decoded(arguments[0], each, words) for each in values)
    if len(values) != len(arguments):
        raise ValueError(f"{values!r:.80}: must have {len(arguments)} elements")
    pairs = zip(arguments, values, strict=True)
    return tuple(decoded(kind, each, words) for kind, each in pairs)


def _member(kinds: Sequence[Any], value: Any, words: Mapping[type, Word]) -> Any:
    """The member of a union that ``value`` is written as."""
    for kind in kinds:
        if kind in words or kind in _PLAIN:
            if type(value) is (str if kind in words else kind):
                return kind
        elif _is_tagged(kind, value):
            return kind
    raise ValueError(f"{value!r:.80}: must be one of {', '.join(map(_name, kinds))}")


def _is_tagged(kind: Any, value: Any) -> bool:
    return isinstance(value, list) and value[:1] == [_name(kind)]


def _name(kind: type) -> str:
    """The name of a type in files, which outlasts that of a class."""
    name: str = getattr(kind, "NAME_IN_FILES", kind.__name__)
    return name


def _of(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{value!r:.80}: must be a {kind.__name__}")
    return value


@cache
def _field_types(kind: type) -> tuple[Any, ...]:
    hints = get_type_hints(kind)
    return tuple(hints[each.name] for each in fields(kind))
