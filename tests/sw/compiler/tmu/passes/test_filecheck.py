"""Passes on small modules; what they must make of them stands beside them, for FileCheck."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.coupled.pipeline import SHARES, coupled_passes
from gnarl.sw.compiler.nests.execute.simplify import simplify
from gnarl.sw.compiler.tmu.execute.rotate import rotate_loops
from gnarl.sw.compiler.tmu.execute.split_choices import share_reads, split_choices
from gnarl.sw.compiler.tmu.pipeline import LEVELS, ModulePass, pipeline
from gnarl.sw.compiler.tmu.text import from_text, to_text
from tests.support.file_check import check

CONFIG = TmuConfig(lanes=4)
FILES = sorted((Path(__file__).parent / "filecheck").glob("*.mlir"))

PASSES: dict[str, ModulePass] = {
    **coupled_passes(CONFIG, ["out"], defaultdict(lambda: 1024), SHARES[0]),
    **pipeline(CONFIG, ["out"], max(LEVELS)),
    # Of cases, before instructions are selected.
    **{each.__name__: each for each in (rotate_loops, share_reads, split_choices, simplify)},
}


def pass_of(file: Path) -> str:
    """The file's name up to a dot."""
    return file.stem.split(".")[0]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_pass(file: Path):
    source = file.read_text()
    module = PASSES[pass_of(file)](from_text(source, file.name))
    result = to_text(module)
    module.verify()
    assert check(source, result), result
    assert not used_elsewhere(module)


def test_every_pass_has_a_file():
    assert {pass_of(file) for file in FILES} == set(PASSES)


def test_checks_can_fail():
    assert check("// CHECK: a\n// CHECK-NOT: b\n", "a\nc\n")
    assert not check("// CHECK: a\n// CHECK-NOT: b\n", "a\nb\n")
    assert not check("// CHECK: a\n", "c\n")


def used_elsewhere(module: ModuleOp) -> list[Operation]:
    """Operations that use its values, and that a pass has taken out of it without erasing them."""
    inside = list(module.walk())
    values: list[SSAValue] = [value for each in inside for value in each.results]
    for region in (region for each in inside for region in each.regions):
        values += [value for block in region.blocks for value in block.args]
    users = {use.operation for value in values for use in value.uses}
    return [*users - set(inside)]
