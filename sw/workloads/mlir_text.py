"""MLIR's text, read with places, and nothing of it trusted."""

from __future__ import annotations

import re
from collections.abc import Iterable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Location

from gnarl.hw.lib.errors import WorkloadError, damaged_as, one_line

_STRING = re.compile(r'//[^\n]*|"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"?')
"""A comment or string: one without its second quote has something that no string may have."""

Places = dict[Operation, Location]
"""Where in the text operations begin."""


def to_text(module: ModuleOp) -> str:
    """Ends in a newline; ``parse_module`` reads it back. O(operations)."""
    return f"{module!s}\n"


def parse_module(text: str, file: str, dialects: Iterable[Dialect]) -> tuple[ModuleOp, Places]:
    """The module of a text called ``file`` in messages, verified, and where operations are.

    Raises ``WorkloadError`` for what is no module of these dialects. O(size of the text).
    """
    _check_strings(text, file)
    context = Context()
    for dialect in dialects:
        context.load_dialect(dialect)
    with damaged_as(WorkloadError, file):
        try:
            parser = _Parser(context, text, file)
            module = parser.parse_module()
            module.verify()
        except ParseError as error:
            raise WorkloadError(f"{error.span.get_location()}: {error.msg}") from error
        except VerifyException as error:
            raise WorkloadError(f"{file}: {one_line(error)}") from error
        except (AssertionError, NotImplementedError) as error:  # of parsers of operations
            raise WorkloadError(f"{file}: cannot be understood: {one_line(error)}") from error
    _check_order(module, file)
    return module, parser.places


class _Parser(Parser):
    """A parser that knows locations."""

    def __init__(self, context: Context, text: str, file: str) -> None:
        super().__init__(context, text, file)
        self.places: Places = {}

    def parse_operation(self) -> Operation:
        span = self._current_token.span
        operation = super().parse_operation()
        self.places[operation] = span.get_location()
        return operation


def _check_strings(text: str, file: str) -> None:
    """xDSL's lexer takes exponential time for a string that does not end. O(size of the text)."""
    for matched in _STRING.finditer(text):
        if matched[0] == '"' or not matched[0].endswith('"') and not matched[0].startswith("//"):
            line = text.count("\n", 0, matched.end()) + 1
            column = matched.end() - text.rfind("\n", 0, matched.end())
            raise WorkloadError(
                f"{file}:{line}:{column}: a string must end in its line, and have no escapes but "
                '\\n, \\t, \\", \\\\ and two hexadecimal digits'
            )


def _check_order(module: ModuleOp, file: str) -> None:
    """What xDSL's verifier leaves out: that values are there before they are used."""
    known: set[SSAValue] = set()
    for operation in module.walk():
        for number, operand in enumerate(operation.operands):
            if isinstance(operand.owner, Operation) and operand not in known:
                raise WorkloadError(
                    f"{file}: {operation.name}: operand {number} is defined behind its use"
                )
        known.update(operation.results)
