"""Numbers are of ASCII digits, in every reader: Python's ``int`` takes those of all scripts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gnarl.hw.lib.encoding.execute_assembly import assemble
from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.lib.formats import parse_format
from gnarl.sw.compiler.sam.dot_read import read_dot
from gnarl.sw.workloads.tensor.parser import parse

DOT = """digraph g { comment="x=s0,b=s0"
  l [type="fiberlookup" tensor="b" index="i" mode="<" format="compressed" root="true"]
  v [type="arrayvals" tensor="b"]
  c [type="fiberwrite" tensor="x" index="i" mode="<" format="compressed"]
  w [type="fiberwrite" tensor="x" mode="vals"]
  l -> c [type="crd"]
  l -> v [type="ref"]
  v -> w [type="val"]
}
"""

READERS: dict[str, tuple[Callable[[str], object], str, str]] = {
    "number of an expression": (parse, "x(i)=<*b(i)", "2"),
    "lanes": (parse, "x(i)=b(i) -f=x:s -f=b:s -s=parallelize(i,<)", "2"),
    "assembly": (assemble, "  add s1, s2, <\n  halt", "2"),
    "register": (assemble, "  add s<, s2, 1\n  halt", "2"),
    "fixed point": (parse_format, "fixed16.<", "8"),
    "level of DOT": (lambda text: read_dot(text, "g.gv"), DOT, "0"),
}


@pytest.mark.parametrize("name", READERS)
def test_digits_of_other_scripts_are_refused(name: str) -> None:
    read, text, digit = READERS[name]
    read(text.replace("<", digit))
    for other in (chr(0x660 + int(digit)), chr(0xFF10 + int(digit)), chr(0x966 + int(digit))):
        assert int(other) == int(digit)
        with pytest.raises((GnarlError, ValueError)):
            read(text.replace("<", other))
