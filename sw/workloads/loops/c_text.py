"""C's syntax trees with places, and the numbers that ``#define`` names."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from pycparser import c_ast
from pycparser.c_lexer import CLexer
from pycparser.c_parser import CParser, ParseError

from hw.lib.errors import WorkloadError, damaged_as, short
from hw.lib.text_lines import text_lines
from sw.workloads.loops.place import Place

_TYPEDEFS = """\
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned uint32_t;
typedef unsigned long uint64_t; typedef unsigned long size_t; typedef _Bool bool;
# 1 ""
"""
"""What ``<stdint.h>``, ``<stddef.h>`` and ``<stdbool.h>`` say; the text's own lines follow."""

_COMMENT = re.compile(
    r"""//(?:\\[ \t]*\n|[^\n])*|/\*.*?\*/|/\*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL
)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)((?:\\\n|[^\n])*)", re.MULTILINE)
_NUMBER = re.compile(
    r"[ \t]+([A-Za-z_]\w*)[ \t]+(\(?)[ \t]*(-?)[ \t]*([0-9.][\w.+-]*)[ \t]*(\)?)[ \t]*"
)
_ERROR = re.compile(r"(?::(\d+):(\d+))?: (.*)")


class _Lexer(CLexer):
    """Knows the last token: not all errors say where they are."""

    last: Any = None

    def token(self) -> Any:
        found = super().token()
        self.last = found or self.last
        return found


class CText:
    """A C file's text, called ``file`` in error texts.

    tree
        its syntax tree; comments and directives are blanks in it. No file is read for an
        ``#include``.
    defined
        numbers of ``#define`` by name, as C spells them.

    Raises ``WorkloadError``, "file:line:column: …", where the text is not C, and for directives but
    ``#include``, ``#pragma`` and ``#define`` of numbers.
    """

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self.defined: dict[str, str] = {}
        text = "\n".join(text_lines(text))
        text = _COMMENT.sub(lambda found: self._without_comment(text, found), text)
        text = _DIRECTIVE.sub(lambda found: self._without_directive(text, found), text)
        parser = CParser(lexer=_Lexer)
        try:
            with damaged_as(WorkloadError, file):
                self.tree: c_ast.FileAST = parser.parse(_TYPEDEFS + text, "")
        except ParseError as error:
            found = _ERROR.fullmatch(str(error))
            line, column, problem = found.groups() if found else (None, None, str(error))
            last = parser.clex.last
            if line is None and last is not None:
                line, column = last.lineno, last.column
            place = Place(file, int(line or 1), int(column or 1))
            raise WorkloadError(f"{place}: not C: {short(problem)}") from None

    def place(self, node: c_ast.Node) -> Place:
        """Of a node that has one, else the file's beginning."""
        coord = node.coord
        return (
            Place(self._file, coord.line, coord.column or 1) if coord else Place(self._file, 1, 1)
        )

    def refuse(self, node: c_ast.Node, text: str) -> NoReturn:
        """Raises ``WorkloadError`` with the node's place."""
        raise WorkloadError(f"{self.place(node)}: {text}")

    def _refuse_at(self, text: str, at: int, problem: str) -> NoReturn:
        before = text[:at]
        place = Place(self._file, before.count("\n") + 1, at - before.rfind("\n"))
        raise WorkloadError(f"{place}: {problem}")

    def _without_comment(self, text: str, found: re.Match[str]) -> str:
        if found[0] == "/*":
            self._refuse_at(text, found.start(), "a comment has no end: must have a */")
        return _blank(found[0]) if found[0].startswith("/") else found[0]

    def _without_directive(self, text: str, found: re.Match[str]) -> str:
        word, rest = found[1], found[2].replace("\\\n", "  ")
        at = found.start() + len(found[0]) - len(found[0].lstrip())
        if word == "define":
            number = _NUMBER.fullmatch(rest + " ")
            is_number = (
                number and number[4][0] in "0123456789." and bool(number[2]) == bool(number[5])
            )
            if not is_number or number is None:
                self._refuse_at(
                    text, at, f"#define{short(rest)}: must name a number, as #define WIDTH 8"
                )
            self.defined[number[1]] = number[3] + number[4]
        elif word not in ("include", "pragma"):
            self._refuse_at(
                text, at, f"#{word}: directives must be #include, #pragma or #define of a number"
            )
        return _blank(found[0])


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
