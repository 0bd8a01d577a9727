"""Passes on small modules; what they must make of them stands beside them, for FileCheck."""

from __future__ import annotations

from collections import defaultdict
from io import StringIO
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import DumpInputKind, Options
from filecheck.parser import Parser, pattern_for_opts

from hw.tmu.config import TmuConfig
from sw.compiler.tmu.coupled.pipeline import SHARES, coupled_passes
from sw.compiler.tmu.pipeline import pipeline
from sw.compiler.tmu.text import from_text, to_text

CONFIG = TmuConfig(lanes=4)
FOLDER = Path(__file__).parent / "filecheck"


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.mlir")), ids=lambda file: file.stem)
def test_pass(file: Path):
    """The file's name is the pass's, up to a dot."""
    source = file.read_text()
    coupled = coupled_passes(CONFIG, ["out"], defaultdict(lambda: 1024), SHARES[0])
    run = {**coupled, **pipeline(CONFIG, ["out"], 4)}[file.stem.split(".")[0]]
    result = to_text(run(from_text(source, file.name)))
    assert check(source, result), result


def test_checks_can_fail():
    assert check("// CHECK: a\n// CHECK-NOT: b\n", "a\nc\n")
    assert not check("// CHECK: a\n// CHECK-NOT: b\n", "a\nb\n")
    assert not check("// CHECK: a\n", "c\n")


def check(checks: str, text: str) -> bool:
    options = Options("checks", dump_input=DumpInputKind.NEVER)
    parser = Parser(options, StringIO(checks), *pattern_for_opts(options))
    return Matcher(options, FInput("result", text), parser).run() == 0
