"""The syntax of liberty files: groups of attributes and groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gnarl.hw.lib.errors import GnarlError, quoted, short
from gnarl.sw.workloads.text_file import read_text

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\\\n", re.S)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}():;,\n]|[^ \t\n{}():;,"]+', re.S)


class LibraryError(GnarlError):
    """A library that cannot serve; names its file, and the line or what it lacks."""


@dataclass(frozen=True)
class Group:
    """``kind(names) { … }``.

    attributes
        texts of ``name : text`` by name, without quotes; of several of one name the last.
    groups
        those inside, in order.
    """

    kind: str
    names: tuple[str, ...]
    attributes: dict[str, str] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)

    def of(self, *kinds: str) -> list[Group]:
        """The groups inside that are of these kinds."""
        return [group for group in self.groups if group.kind in kinds]

    def below(self, kind: str) -> Iterator[Group]:
        """The groups of a kind inside, at any depth."""
        for group in self.groups:
            if group.kind == kind:
                yield group
            yield from group.below(kind)


def read_liberty(path: Path) -> Group:
    """The group ``library`` of a file. Raises ``LibraryError``, ``WorkloadError`` (cannot be read).

    Source: Liberty User Guide, volume 1, chapter 1.
    """
    text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), read_text(path))
    tokens = _Tokens(path, text)
    root = Group("", ())
    while not tokens.at_end():
        _statement(tokens, root)
    libraries = root.of("library")
    if len(libraries) != 1 or len(root.groups) != 1:
        raise LibraryError(f"{path}: not a liberty file: must be one group library(NAME) {{ … }}")
    return libraries[0]


class _Tokens:
    """The tokens of a text; ends of lines, which end attributes, are among them."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._found = _TOKEN.findall(text)
        self._at = 0
        self.line = 1

    def peek(self) -> str:
        return self._found[self._at] if self._at < len(self._found) else ""

    def take(self) -> str:
        token = self.peek()
        self._at += 1
        self.line += token.count("\n")
        return token

    def take_word(self) -> str:
        """The next token on this line or below."""
        while (token := self.take()) == "\n":
            pass
        return token

    def at_end(self) -> bool:
        while self.peek() in ("\n", ";"):
            self.take()
        return not self.peek()

    def expected(self, what: str, found: str) -> LibraryError:
        shown = f"found {quoted(found)}" if found else "the file ends"
        return LibraryError(
            f"{self._path}:{self.line}: not a liberty file: must be {what}, {shown}"
        )


def _statement(tokens: _Tokens, inside: Group) -> None:
    """Adds an attribute or a group to the group that it is in."""
    name = tokens.take_word()
    if not (re.match(r"[\w\"]", name) and name.isascii() and name.isprintable()):
        raise tokens.expected("the name of a group or attribute", name)
    sign = tokens.take_word()
    if sign == ":":
        words = [tokens.take_word()]
        while tokens.peek() not in (";", "\n", "}", ""):
            words.append(tokens.take())
        inside.attributes[name] = " ".join(map(_unquoted, words))
    elif sign == "(":
        names = []
        while (word := tokens.take_word()) != ")":
            if not word or word in "{};":
                raise tokens.expected(")", word)
            if word != ",":
                names.append(_unquoted(word))
        group = Group(name, tuple(names))
        if tokens.peek() == "\n":
            _skip_lines_to_brace(tokens)
        if tokens.peek() == "{":
            tokens.take()
            _body(tokens, group)
            inside.groups.append(group)
    else:
        raise tokens.expected(f": or ( behind {short(name)!r}", sign)


def _skip_lines_to_brace(tokens: _Tokens) -> None:
    """A group's brace may be on a line of its own."""
    while tokens.peek() == "\n":
        tokens.take()


def _body(tokens: _Tokens, group: Group) -> None:
    while True:
        while tokens.peek() in ("\n", ";"):
            tokens.take()
        if tokens.peek() == "}":
            tokens.take()
            return
        if not tokens.peek():
            raise tokens.expected(f"}} of group {group.kind}", "")
        _statement(tokens, group)


def _unquoted(word: str) -> str:
    return word[1:-1] if word.startswith('"') else word
