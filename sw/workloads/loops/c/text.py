"""C's syntax trees with places."""

from __future__ import annotations

import re
import warnings
from bisect import bisect_right
from pathlib import Path
from typing import Any, NoReturn

from pycparser import c_ast
from pycparser.c_lexer import CLexer
from pycparser.c_parser import CParser, ParseError

from gnarl.hw.lib.errors import WorkloadError, damaged_as, short
from gnarl.sw.workloads.loops.c.dereferences import as_elements
from gnarl.sw.workloads.loops.c.headers import TYPEDEFS
from gnarl.sw.workloads.loops.c.preprocess import preprocess
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.refusals import InputWarning

_LINE = 1 + TYPEDEFS.count("\n")
"""The one that all tokens of the file are on."""

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
        its syntax tree, without comments, macros and directives.
    typedefs
        types by the names that it gives them.
    folder
        that of the headers that it may include; ``None``: no file is read.

    Raises ``WorkloadError``, "file:line:column: …", where the text is not C.
    """

    def __init__(self, text: str, file: str, folder: Path | None = None) -> None:
        self._file = file
        self._columns: list[int] = []
        self._places: list[Location] = []
        words: list[str] = []
        column = 1
        for word, place in preprocess(text, file, folder):
            words.append(word)
            self._columns.append(column)
            self._places.append(place)
            column += len(word) + 1
        parser = CParser(lexer=_Lexer)
        try:
            with damaged_as(WorkloadError, file):
                tree = parser.parse(TYPEDEFS + " ".join(words), "")
        except ParseError as error:
            found = _ERROR.fullmatch(str(error))
            line, column_found, problem = found.groups() if found else (None, None, str(error))
            last = parser.clex.last
            if line is None and last is not None:
                column_found = last.column
            at = self._at(_LINE, int(column_found or 1))
            raise WorkloadError(f"{at}: not C: {short(problem)}") from None
        self.tree: c_ast.FileAST = as_elements(tree)
        self.typedefs = {
            each.name: each.type for each in self.tree.ext if isinstance(each, c_ast.Typedef)
        }
        self._doubles: set[Location] = set()

    def place(self, node: c_ast.Node) -> Location:
        """The place of a node that has one, else the file's beginning."""
        coord = node.coord
        return self._at(coord.line, coord.column) if coord else Location(self._file, 1, 1)

    def refuse(self, node: c_ast.Node, text: str) -> NoReturn:
        """Raises ``WorkloadError`` with the node's place."""
        raise WorkloadError(f"{self.place(node)}: {text}")

    def note_double(self, place: Location) -> None:
        """Remembers a double in arithmetic that is taken as a float, for ``warn``."""
        self._doubles.add(place)

    def warn(self) -> None:
        """Warns of what is not as C has it without further options."""
        if self._doubles:
            first = min(self._doubles, key=lambda place: (place.file, place.line, place.column))
            others = len(self._doubles) - 1
            more = f", and {others} more are" if others else ", is"
            warnings.warn(
                f"{first}: a double in arithmetic of float{more} taken as float, as gcc does with "
                "-fsingle-precision-constant",
                InputWarning,
                stacklevel=2,
            )

    def _at(self, line: int, column: int | None) -> Location:
        at = bisect_right(self._columns, column or 1) - 1
        return self._places[at] if line == _LINE and at >= 0 else Location(self._file, 1, 1)
