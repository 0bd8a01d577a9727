"""The DOT language, as far as the SAM tools use it: one digraph of nodes and edges.

A parser of our own because errors name the line, which parsers of the whole language do not keep.
Not read: subgraphs, ports, HTML labels, undirected graphs. Source: the grammar in Graphviz's
documentation, "DOT Language".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from gnarl.hw.lib.errors import WorkloadError, quoted, short


@dataclass(frozen=True)
class DotEdge:
    """``source -> target`` with its attributes, as the ``line`` says."""

    source: str
    target: str
    attributes: dict[str, str]
    line: int


@dataclass(frozen=True)
class DotNode:
    """A node with its attributes, those of all its statements; ``line`` is the first one's."""

    name: str
    attributes: dict[str, str]
    line: int


@dataclass(frozen=True)
class DotGraph:
    """A digraph: its own ``attributes``, nodes by name and edges, both in the file's order."""

    attributes: dict[str, str]
    nodes: dict[str, DotNode]
    edges: tuple[DotEdge, ...]


_TOKEN = re.compile(
    r"(?P<space>^[ \t]*#[^\n]*|[ \t\n]|//[^\n]*|/\*.*?\*/)"
    r'|(?P<quoted>"(?:[^"\\]|\\.)*")'
    r"|(?P<word>(?!\s)[A-Za-z_\x80-\U0010ffff]\w*|-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?))"
    r"|(?P<sign>->|--|[{}\[\]=;,:+<])",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class _Token:
    kind: str  # "quoted", "word", "sign" or "end"
    text: str
    line: int


def parse_dot(text: str, name: str) -> DotGraph:
    """The digraph in ``text``. ``WorkloadError`` names the line of the file called ``name``."""
    return _Parser(text, name).graph()


class _Parser:
    def __init__(self, text: str, name: str) -> None:
        self._name = name
        self._tokens = self._tokenise(text)
        self._place = 0
        self._attributes: dict[str, str] = {}
        self._defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
        self._nodes: dict[str, DotNode] = {}
        self._edges: list[DotEdge] = []

    def _tokenise(self, text: str) -> list[_Token]:
        tokens = []
        position, line = 0, 1
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None and text[position] == '"':
                self._fail(line, "a quote is opened and never closed")
            if match is None:
                self._fail(line, f"unexpected character {text[position]!r}")
            if match.lastgroup != "space":
                tokens.append(_Token(match.lastgroup or "", match[0], line))
            line += match[0].count("\n")
            position = match.end()
        tokens.append(_Token("end", "the end", line))
        return tokens

    def graph(self) -> DotGraph:
        if self._peek().text.lower() == "strict":
            self._next()
        token = self._next()
        if token.text.lower() != "digraph":
            self._fail(token.line, f"expected digraph, found {short(token.text)}")
        if self._peek().text != "{":
            self._identifier()
        self._expect("{")
        while self._peek().text != "}":
            self._statement()
            if self._peek().text == ";":
                self._next()
        self._next()
        token = self._peek()
        if token.kind != "end":
            self._fail(token.line, f"unexpected {short(token.text)} after the digraph")
        return DotGraph(self._attributes, self._nodes, tuple(self._edges))

    def _statement(self) -> None:
        token = self._peek()
        if token.text in ("{", "subgraph"):
            self._fail(token.line, "subgraphs are not supported; write the nodes into the digraph")
        name = self._identifier()
        if token.kind == "word" and name == "graph":
            for key, value in self._attribute_lists().items():
                self._set(self._attributes, key, value, token.line)
        elif token.kind == "word" and name in self._defaults:
            self._defaults[name].update(self._attribute_lists())
        elif self._peek().text == "=":
            self._next()
            self._set(self._attributes, name, self._identifier(), token.line)
        elif self._peek().text == "->":
            self._chain(name, token.line)
        else:
            attributes = self._attribute_lists()
            known = self._nodes.get(name)
            if known is None:
                attributes = {**self._defaults["node"], **attributes}
                self._nodes[name] = DotNode(name, attributes, token.line)
                return
            for key, value in attributes.items():
                self._set(known.attributes, key, value, token.line)

    def _chain(self, first: str, line: int) -> None:
        names = [first]
        while self._peek().text == "->":
            self._next()
            names.append(self._identifier())
        attributes = {**self._defaults["edge"], **self._attribute_lists()}
        for name in names:
            if name not in self._nodes:
                self._nodes[name] = DotNode(name, dict(self._defaults["node"]), line)
        for source, target in zip(names, names[1:], strict=False):
            self._edges.append(DotEdge(source, target, dict(attributes), line))

    def _attribute_lists(self) -> dict[str, str]:
        attributes: dict[str, str] = {}
        while self._peek().text == "[":
            self._next()
            while self._peek().text != "]":
                key = self._identifier()
                self._expect("=")
                self._set(attributes, key, self._identifier(), self._peek().line)
                if self._peek().text in (",", ";"):
                    self._next()
            self._next()
        return attributes

    def _set(self, attributes: dict[str, str], key: str, value: str, line: int) -> None:
        """Adds an attribute, which must not say something else than an earlier one of the key."""
        if attributes.setdefault(key, value) != value:
            earlier = quoted(attributes[key])
            self._fail(line, f"{short(key)} = {quoted(value)}, but earlier {earlier}: must agree")

    def _identifier(self) -> str:
        token = self._next()
        if token.kind == "word":
            return token.text
        if token.kind != "quoted":
            self._fail(token.line, f"expected a name, found {short(token.text)}")
        parts = [_unquoted(token.text)]
        while self._peek().text == "+":
            self._next()
            token = self._next()
            if token.kind != "quoted":
                self._fail(token.line, f"expected a quoted text after +, found {short(token.text)}")
            parts.append(_unquoted(token.text))
        return "".join(parts)

    def _expect(self, text: str) -> None:
        token = self._next()
        if token.text != text:
            self._fail(token.line, f"expected {text}, found {short(token.text)}")

    def _peek(self) -> _Token:
        return self._tokens[self._place]

    def _next(self) -> _Token:
        token = self._tokens[self._place]
        if token.kind == "end":
            self._fail(token.line, "the file ends inside the digraph")
        self._place += 1
        return token

    def _fail(self, line: int, problem: str) -> NoReturn:
        raise WorkloadError(f"{self._name}, line {line}: {problem}")


def _unquoted(text: str) -> str:
    """Only a quote is escaped in DOT; other backslashes belong to the text."""
    return text[1:-1].replace('\\"', '"').replace("\\\n", "")
