"""Formats of tensors as encodings of upstream's dialect ``sparse_tensor``.

``#sparse_tensor.encoding<{ map = (d0, d1) -> (d1 : dense, d0 : compressed) }>``. Beside upstream's
level types there is ``bitvector``; of upstream's, those with blocks or lists of coordinates have no
format here.
"""

from __future__ import annotations

from xdsl.ir import Data, Dialect
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from gnarl.sw.workloads.tensor.storage import LEVEL_FORMATS, TensorFormat

_WIDTHS = ("posWidth", "crdWidth")
"""Bits of positions and coordinates, which say nothing of the format."""


@irdl_attr_definition
class EncodingAttr(Data[TensorFormat]):
    """How a tensor is stored."""

    name = "sparse_tensor.encoding"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TensorFormat:
        format = None
        with parser.in_angle_brackets(), parser.in_braces():
            while True:
                if parser.parse_optional_keyword("map"):
                    parser.parse_punctuation("=")
                    format = _parse_map(parser)
                else:
                    parser.parse_keyword_in(_WIDTHS)
                    parser.parse_punctuation("=")
                    parser.parse_integer()
                if parser.parse_optional_punctuation(",") is None:
                    break
        if format is None:
            parser.raise_error("an encoding must have a map")
        return format

    def print_parameter(self, printer: Printer) -> None:
        dimensions = ", ".join(f"d{mode}" for mode in range(self.data.order))
        levels = zip(self.data.levels, self.data.modes, strict=True)
        stored = ", ".join(f"d{mode} : {level}" for level, mode in levels)
        with printer.in_angle_brackets():
            printer.print_string(f"{{ map = ({dimensions}) -> ({stored}) }}")


def _parse_map(parser: AttrParser) -> TensorFormat:
    parens = parser.Delimiter.PAREN
    dimensions = parser.parse_comma_separated_list(parens, parser.parse_identifier)
    parser.parse_punctuation("->")
    stored = parser.parse_comma_separated_list(parens, lambda: _parse_level(parser, dimensions))
    modes = tuple(mode for mode, _ in stored)
    if sorted(modes) != list(range(len(dimensions))):
        parser.raise_error("an encoding must have one level for each dimension")
    return TensorFormat(tuple(level for _, level in stored), modes)


def _parse_level(parser: AttrParser, dimensions: list[str]) -> tuple[int, str]:
    mode = dimensions.index(parser.parse_keyword_in(dimensions))
    parser.parse_punctuation(":")
    return mode, parser.parse_keyword_in(tuple(LEVEL_FORMATS.values()))


SPARSE_TENSOR = Dialect("sparse_tensor", [], [EncodingAttr])
