"""Texts that are checked by FileCheck."""

from __future__ import annotations

from io import StringIO

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import DumpInputKind, Options
from filecheck.parser import Parser, pattern_for_opts


def check(checks: str, text: str) -> bool:
    """Whether a text is as the comments ``CHECK`` of another say."""
    options = Options("checks", dump_input=DumpInputKind.NEVER)
    parser = Parser(options, StringIO(checks), *pattern_for_opts(options))
    return Matcher(options, FInput("result", text), parser).run() == 0
