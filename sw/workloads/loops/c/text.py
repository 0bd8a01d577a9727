"""C's syntax trees with places, and the numbers that ``#define`` names."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from pycparser import c_ast
from pycparser.c_lexer import CLexer
from pycparser.c_parser import CParser, ParseError

from gnarl.hw.lib.errors import WorkloadError, damaged_as, short
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.workloads.place import Location

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
        self._defined_in: dict[str, int] = {}
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
            place = Location(file, int(line or 1), int(column or 1))
            raise WorkloadError(f"{place}: not C: {short(problem)}") from None
        self._refuse_replaced()

    def place(self, node: c_ast.Node) -> Location:
        """The place of a node that has one, else the file's beginning."""
        coord = node.coord
        return (
            Location(self._file, coord.line, coord.column or 1)
            if coord
            else Location(self._file, 1, 1)
        )

    def refuse(self, node: c_ast.Node, text: str) -> NoReturn:
        """Raises ``WorkloadError`` with the node's place."""
        raise WorkloadError(f"{self.place(node)}: {text}")

    def _refuse_at(self, text: str, at: int, problem: str) -> NoReturn:
        before = text[:at]
        place = Location(self._file, before.count("\n") + 1, at - before.rfind("\n"))
        raise WorkloadError(f"{place}: {problem}")

    def _refuse_replaced(self) -> None:
        """Raises ``WorkloadError`` for names of ``#define`` where C would put the number, which is
        no expression there, and where it would not yet."""
        nodes: list[c_ast.Node] = [self.tree] if self.defined else []
        while nodes:
            node = nodes.pop()
            nodes += [child for _, child in node.children()]
            for name in self.defined.keys() & _names(node):
                line = self._defined_in[name]
                self.refuse(
                    node,
                    f"{short(name)} is {short(self.defined[name])} by the #define of line "
                    f"{line}: must be another name",
                )
            if isinstance(node, c_ast.ID) and node.name in self.defined:
                line = self._defined_in[node.name]
                if self.place(node).line < line:
                    self.refuse(node, f"{short(node.name)} is defined later, by line {line}")

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
            name, value = number[1], number[3] + number[4]
            if self.defined.setdefault(name, value) != value:
                earlier = f"{short(self.defined[name])} by line {self._defined_in[name]}"
                self._refuse_at(
                    text,
                    at,
                    f"#define {short(name)} {short(value)}: is {earlier}: must be one number",
                )
            if _is_word_of_c(name):
                self._refuse_at(text, at, f"#define {name}: is a word of C: must be another name")
            self._defined_in.setdefault(name, text[:at].count("\n") + 1)
        elif word not in ("include", "pragma"):
            self._refuse_at(
                text, at, f"#{word}: directives must be #include, #pragma or #define of a number"
            )
        return _blank(found[0])


def _names(node: c_ast.Node) -> set[str]:
    """What a node names that is no value: what it declares, its type, the function it calls."""
    match node:
        case c_ast.Decl(name=str(name)) | c_ast.FuncCall(name=c_ast.ID(name=name)):
            return {name}
        case c_ast.IdentifierType(names=names):
            return set(names)
    return set()


def _is_word_of_c(name: str) -> bool:
    try:
        CParser(lexer=_Lexer).parse(f"enum {{ {name} }};")
    except ParseError:
        return True
    return False


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
