"""C's preprocessor: macros, conditions, and headers of the file's own folder.

pcpp finds directives and expands macros. What it leaves to its user is here: the place of each
token, the value of conditions, which files are read, and bounds for macros and headers that never
end. A token that a macro makes has the place where the macro stands.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from pcpp.parser import default_lexer
from pcpp.preprocessor import Preprocessor

from gnarl.hw.lib.errors import WorkloadError, damaged_as, short
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.workloads.loops.c.conditions import is_true
from gnarl.sw.workloads.loops.c.headers import HEADERS, PREDEFINED
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.text_file import read_text

_MOST_EXPANDED = 500_000
"""Tokens that macros may make, those in between counted."""

_DEEPEST_MACROS = 100

_MOST_HEADERS = 1_000
_DEEPEST = 40
"""Headers, and how deep one is in another."""

_MOST_CHARACTERS = 1 << 24
"""Of all headers."""

_COMMENT = re.compile(
    r"""//(?:\\[ \t]*\n|[^\n])*|/\*.*?\*/|/\*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL
)
_TOKEN = re.compile(r"\.?[0-9](?:[eEpP][+-]|[\w.])*|\^=")
"""Numbers, as section 6.4.8 of the standard has them, and an operator that pcpp takes for two."""
_DIRECTIVE = re.compile(r"[ \t]*#")
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_BLANKS = " \t"
_OTHER_BLANKS = dict.fromkeys(map(ord, "\v\f"), " ")
_IGNORED = ("pragma", "warning", "ident")


def preprocess(text: str, file: str, folder: Path | None) -> list[tuple[str, Location]]:
    """Tokens of a C file's text, called ``file`` in places, with places.

    ``folder`` has the headers that may be included; ``None``: no file is read. Raises
    ``WorkloadError``, "file:line:column: …".
    """
    with damaged_as(WorkloadError, file):
        return list(_Preprocessor(file, folder).run(text))


class _Lexer:
    """pcpp's, with ``_TOKEN``."""

    def __init__(self, lexer: Any) -> None:
        self._lexer = lexer
        self._text, self._end = "", 0

    def clone(self) -> _Lexer:
        return _Lexer(self._lexer.clone())

    def input(self, text: str) -> None:
        self._text, self._end = text, 0
        self._lexer.input(text)

    def token(self) -> Any:
        while (token := self._lexer.token()) is not None:
            if token.lexpos < self._end:
                continue  # within the one before
            whole = _TOKEN.match(self._text, token.lexpos)
            if whole and whole[0] != token.value:
                token.value, token.type, self._end = whole[0], "CPP_FLOAT", whole.end()
            return token
        return None


class _Preprocessor(Preprocessor):
    """Sources of pcpp's tokens are ``Location``."""

    def __init__(self, file: str, folder: Path | None) -> None:
        super().__init__()
        self.lexer: Any = _Lexer(default_lexer())
        for name in ("__DATE__", "__TIME__", "__PCPP__"):
            self.undef(name)
        self.auto_pragma_once_enabled = False
        self.expand_filemacro = False
        self.rewrite_paths: list[Any] = []
        self._file = file
        self._folder = folder
        self._expanded = self._headers = self._characters = 0
        self._directive: Any = Location(file, 1, 1)
        self._has_else: list[bool] = []
        self._expanding: list[list[str]] = []
        self._define_all(PREDEFINED.items())

    def run(self, text: str) -> Iterator[tuple[str, Location]]:
        for token in self.parsegen(_cleaned(text, self._file), self._file, self._file):
            if token.type not in self.t_WS:
                yield token.value, token.source

    def group_lines(self, input: str, abssource: str) -> Iterator[list[Any]]:
        """Lines of tokens with their places."""
        starts = [0, *(found.end() for found in re.finditer("\n", input))]
        lexer = self.lexer.clone()
        lexer.input(input)
        line: list[Any] = []
        for token in iter(lexer.token, None):
            at = token.lexpos
            row = bisect_right(starts, at)
            token.source = Location(abssource, row, at - starts[row - 1] + 1)
            token.lineno = row
            line.append(token)
            if token.type in self.t_WS and token.value == "\n":
                yield line
                line = []
        if line:  # behind a last backslash
            self._refuse(line[-1].source, "the file ends with a backslash: must end with a line")

    def define(self, tokens: Any) -> None:
        """A macro that the text defines again must be the same one."""
        if isinstance(tokens, str):
            super().define(tokens)
            return
        if not tokens or tokens[0].type != self.t_ID:
            self._refuse(self._directive, "#define: must have a name")
        name = tokens[0].value
        before = self.macros.get(name)
        super().define(tokens)
        if before is None or not isinstance(before.source, Location):
            return
        if _spelled(before) != _spelled(self.macros[name]):
            self._refuse(
                tokens[0].source,
                f"#define {short(name)}: is another macro by {before.source}: must be the same, or "
                "undefined before",
            )

    def expand_macros(self, tokens: list[Any], expanding_from: Any = None) -> list[Any]:
        """``expanding_from``: macros whose texts the tokens are in, which these do not name again;
        of what is given to a macro, those around it."""
        if expanding_from is None:
            expanding_from = self._expanding[-1] if self._expanding else []
        self._expanded += len(tokens) + 1
        if tokens and self._expanded > _MOST_EXPANDED:
            problem = f"macros make more than {_MOST_EXPANDED:,} tokens: must be fewer"
            self._refuse(tokens[0].source, problem)
        if tokens and len(self._expanding) > _DEEPEST_MACROS:
            problem = f"macros are in each other more than {_DEEPEST_MACROS} deep: must be less"
            self._refuse(tokens[0].source, problem)
        self._expanding.append(expanding_from)
        expanded: list[Any] = super().expand_macros(tokens, expanding_from)
        self._expanding.pop()
        return expanded

    def evalexpr(self, tokens: list[Any]) -> tuple[bool, None]:
        """The value of a condition, and that all of it is known."""
        place = self._directive
        words = self._without_defined([each for each in tokens if each.type not in self.t_WS])
        expanded = self.expand_macros(words)
        try:
            return is_true([each.value for each in expanded if each.type not in self.t_WS]), None
        except ValueError as error:
            self._refuse(place, f"#if: {short(str(error))}")

    def _without_defined(self, tokens: list[Any]) -> list[Any]:
        """Whether macros are defined, as 0 and 1."""
        found: list[Any] = []
        while tokens:
            token, *tokens = tokens
            if token.value == "defined":
                values = [each.value for each in tokens[:3]]
                in_brackets = values[:1] == ["("] and values[2:] == [")"]
                name = tokens[1:2] if in_brackets else tokens[:1]
                if not name or name[0].type != self.t_ID:
                    self._refuse(token.source, "defined: must be as defined(NAME)")
                token.type = self.t_INTEGER
                token.value = str(int(name[0].value in self.macros))
                tokens = tokens[3 if in_brackets else 1 :]
            found.append(token)
        return found

    def include(self, tokens: list[Any], original_line: Any) -> Iterator[Any]:
        name, is_quoted = self._included_name(tokens)
        path = self._header(name)
        if path is None or (name in HEADERS and not is_quoted):
            self._define_all(HEADERS.get(name, {}).items())
            return
        label = str(Path(self._file).parent / name)
        if label in self.include_once:
            return
        self._headers += 1
        if self.include_depth > _DEEPEST or self._headers > _MOST_HEADERS:
            self._refuse(
                self._directive,
                f"#include {short(name)}: headers include each other without end: must be at most "
                f"{_DEEPEST} deep and {_MOST_HEADERS:,}",
            )
        text = read_text(path)
        self._characters += len(text)
        if self._characters > _MOST_CHARACTERS:
            self._refuse(self._directive, f"headers have more than {_MOST_CHARACTERS:,} characters")
        yield from self.parsegen(_cleaned(text, label), label, label)

    def _included_name(self, tokens: list[Any]) -> tuple[str, bool]:
        """The name of a header, and whether it stands in quotation marks."""
        values = [each.value for each in tokens]
        if tokens and tokens[0].type == self.t_STRING and len(values) == 1:
            return values[0][1:-1], True
        if values[:1] == ["<"] and values[-1:] == [">"]:
            return "".join(values[1:-1]).strip(), False
        self._refuse(self._directive, '#include: must be as "name.h" or <name.h>')

    def _header(self, name: str) -> Path | None:
        """The file of the file's folder that a header is; ``None`` for one of C's library."""
        is_plain = name not in ("", ".", "..") and not set(name) & set("/\\\0")
        if is_plain and self._folder is not None:
            path = (self._folder / name).resolve()
            if path.is_file() and path.parent == self._folder.resolve():
                return path
        if name not in HEADERS:
            self._refuse(
                self._directive,
                f"#include {short(name)}: must be a file in the folder of {self._file}, or a "
                "header of C's library",
            )
        return None

    def _define_all(self, macros: Iterable[tuple[str, str]]) -> None:
        """Macros of a header, or of the compiler."""
        for name, value in macros:
            before = self.macros.get(name)
            self.define(f"{name} {value}".strip())
            if before is not None and _spelled(before) != _spelled(self.macros[name]):
                self._refuse(
                    self._directive,
                    f"#include: {name} is another macro by {before.source}: must be defined "
                    "behind it",
                )

    def on_directive_handle(
        self, directive: Any, toks: Any, ifpassthru: bool, precedingtoks: Any
    ) -> bool:
        self._directive = directive.source
        word = directive.value
        if word in ("if", "ifdef", "ifndef"):
            self._has_else.append(False)
        elif word in ("elif", "else") and self._has_else:
            if self._has_else[-1]:
                self._refuse(directive.source, f"#{word}: stands behind #else: must be before it")
            self._has_else[-1] = word == "else"
        elif word == "endif" and self._has_else:
            self._has_else.pop()
        if word in ("ifdef", "ifndef", "undef") and not (toks and toks[0].type == self.t_ID):
            self._refuse(directive.source, f"#{word}: must have a name")
        if word in ("if", "elif") and not toks:
            self._refuse(directive.source, f"#{word}: must have a condition")
        return True

    def on_directive_unknown(
        self, directive: Any, toks: Any, ifpassthru: bool, precedingtoks: Any
    ) -> bool:
        word = directive.value
        if word == "error":
            text = "".join(each.value for each in toks)
            self._refuse(directive.source, f"#error {short(text)}")
        if word not in _IGNORED and not word.isdigit():
            self._refuse(directive.source, f"#{short(word)}: is no directive of C that is known")
        return True

    def on_error(self, file: Any, line: int, msg: str) -> NoReturn:
        place = file if isinstance(file, Location) else self._directive
        self._refuse(place, " ".join(msg.split()))

    def _refuse(self, place: Any, text: str) -> NoReturn:
        raise WorkloadError(f"{place}: {text}")


def _spelled(macro: Any) -> tuple[Any, list[str]]:
    return macro.arglist, [each.value for each in macro.value if each.value.strip(_BLANKS)]


def _cleaned(text: str, file: str) -> str:
    """The text without comments, each character where it was."""
    lines = [line.rstrip(_BLANKS) for line in text_lines(text.translate(_OTHER_BLANKS))]
    text = "\n".join(lines) + "\n"
    pieces: list[str] = []
    logical, end = "", 0
    for found in _COMMENT.finditer(text):
        if found[0] == "/*":
            _refuse_at(text, found.start(), file, "a comment has no end: must have a */")
        before = text[end : found.start()]
        logical = _last_logical_line(logical + before)
        piece = found[0]
        if piece.startswith("/"):
            # In a directive, which ends with its line, a comment's lines are one.
            line_end = "\\\n" if _DIRECTIVE.match(logical) else "\n"
            piece = line_end.join(" " * len(line) for line in piece.split("\n"))
        pieces += [before, piece]
        logical, end = _last_logical_line(logical + piece), found.end()
    cleaned = "".join([*pieces, text[end:]])
    if trigraph := _TRIGRAPH.search(cleaned):
        problem = f"{trigraph[0]}: a trigraph: must be its character"
        _refuse_at(cleaned, trigraph.start(), file, problem)
    return "\n".join(line.rstrip(_BLANKS) for line in cleaned.split("\n"))


def _last_logical_line(text: str) -> str:
    """What a backslash joins is one line."""
    begin = text.rfind("\n") + 1
    while begin > 1 and text[begin - 2] == "\\":
        begin = text.rfind("\n", 0, begin - 1) + 1
    return text[begin:]


def _refuse_at(text: str, at: int, file: str, problem: str) -> NoReturn:
    before = text[:at]
    place = Location(file, before.count("\n") + 1, at - before.rfind("\n"))
    raise WorkloadError(f"{place}: {problem}")
