"""Rows in registers, sums side by side, fibers queued again: the golden model's bits."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from gnarl.hw.lib.encoding.execute_isa import Opcode
from gnarl.hw.tmu.config import TmuConfig
from gnarl.sw.compiler.nests.functions import arrays_of, function_of
from gnarl.sw.compiler.tmu.execute.code import execute_code
from tests.support.tmu.messages import Messages

CONFIG = TmuConfig(lanes=4)
PASSES = ("keep_rows", "partial_sums", "repeat_fibers", "prefetch_rows")

MESSAGES = st.builds(
    Messages,
    lengths=st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple),
    dim=st.integers(3, 26),
    first=st.integers(0, 2),
    row=st.sampled_from(("v", "v", "2", "near[v]")),
    product=st.sampled_from(
        (
            "a[{row}, e] * b[indices[p], e]",
            "abs(a[{row}, e] - b[indices[p], e])",
            "b[indices[p], e] * b[indices[p], e]",
            "a[{row}, e] * a[v, e] + b[indices[p], e]",
        )
    ),
    again=st.lists(
        st.sampled_from(
            (
                "scale * b[indices[p], e]",
                "b[indices[p], e] * b[indices[p], e]",
                "product + a[v, e]",
                "b[near[v], e]",
            )
        ),
        max_size=2,
    ).map(tuple),
)


@settings(max_examples=6, deadline=None)
@given(MESSAGES)
def test_every_pass(messages: Messages):
    for step in messages.steps(CONFIG):
        if step.name in (*PASSES, "lower"):
            messages.check(step, CONFIG.lanes)


def test_all_passes_apply():
    """To vectors that are whole, and to those that are not."""
    for dim in (8, 10):
        made = {step.name: str(step.module) for step in Messages(dim=dim).steps(CONFIG)}
        assert len({made[name] for name in ("forward_stores", *PASSES)}) == 1 + len(PASSES)


def test_instructions_of_an_edge():
    """16 vectors of the vertex's row, the neighbour's and the result's fill all registers: products
    are added where a vector of the row was, which is then loaded again, and operands come from the
    queue."""
    module = Messages(dim=64).after("lower", CONFIG)
    bases = dict.fromkeys(arrays_of(function_of(module)).values(), 0)
    code = execute_code(module, CONFIG, bases)
    address = code.tokens["case_1"]
    edge = code.instructions[address:]
    edge = edge[: [each.opcode for each in edge].index(Opcode.JUMP_TOKEN)]
    found = Counter(each.opcode for each in edge if each.vector)
    assert found == {
        Opcode.EXTRACT: 2,
        Opcode.FMUL_ADD: 2 * 16,
        Opcode.FADD: 3,
        Opcode.REDUCE_ADD: 1,
        Opcode.LOAD: 8,
    }
