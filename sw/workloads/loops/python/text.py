"""Python's syntax trees with places."""

from __future__ import annotations

import ast
import math
import warnings
from typing import NoReturn

from gnarl.hw.lib.errors import FEWER_DIGITS, WorkloadError, damaged_as, has_too_many_digits, short
from gnarl.hw.lib.text_lines import text_lines
from gnarl.sw.workloads.place import Location
from gnarl.sw.workloads.refusals import FINITE, NOT_BELOW
from gnarl.sw.workloads.text_file import is_not_zero


class PythonText:
    """A module's text, called ``file`` in error texts; ``tree`` is its syntax tree.

    Raises ``WorkloadError`` where the text is not Python.
    """

    def __init__(self, text: str, file: str) -> None:
        self._text, self._file = text, file
        self._lines = text_lines(text) or [""]  # the lines that ast counts
        try:
            with damaged_as(WorkloadError, file), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(text)
        except SyntaxError as error:
            place = Location(file, error.lineno or 1, error.offset or 1)
            problem = f"not Python: {error.msg}"
            if has_too_many_digits(error):
                problem = f"a whole number has too many digits: {FEWER_DIGITS}"
            raise WorkloadError(f"{place}: {problem}") from None

    def place(self, node: ast.AST) -> Location:
        """The place of a node that has one."""
        line: int = getattr(node, "lineno", 1)
        octets: int = getattr(node, "col_offset", 0)  # of UTF-8
        before = self._lines[line - 1].encode()[:octets].decode(errors="replace")
        return Location(self._file, line, len(before) + 1)

    def number(self, node: ast.Constant) -> int | float:
        """The value of a number; ``WorkloadError`` for one that float64 does not hold."""
        value = node.value
        assert isinstance(value, int | float)
        if isinstance(value, float) and math.isinf(value):
            self.refuse(node, f"{self.spelled(node)}: {FINITE}")
        spelled = ast.get_source_segment(self._text, node) or ""
        if value == 0 and isinstance(value, float) and is_not_zero(spelled):
            self.refuse(node, f"{self.spelled(node)}: {NOT_BELOW}")
        return value

    def spelled(self, node: ast.AST) -> str:
        """The node as the text has it, cut where it is long."""
        return short(" ".join((ast.get_source_segment(self._text, node) or "").split()))

    def refuse(self, node: ast.AST, text: str) -> NoReturn:
        """Raises ``WorkloadError`` with the node's place."""
        raise WorkloadError(f"{self.place(node)}: {text}")
