"""Plans are those of their nests."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from gnarl.sw.compiler.sram_compute.tdfg.affine import Affine
from gnarl.sw.compiler.sram_compute.tdfg.check import check_plan
from gnarl.sw.compiler.sram_compute.tdfg.graph import Indirect, Stream, Tensor
from gnarl.sw.compiler.sram_compute.tdfg.plan import Region, Repeat, Step, plan
from gnarl.sw.workloads.loops.ir.nest import Nest
from gnarl.sw.workloads.loops.ir.scalar_type import BY_NAME
from tests.support.sram_compute.tensor_graphs import nest_of


def require_refused(nest: Nest, step: Step, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}: is not as the nest has it$"):
        check_plan(nest, (step,))


def with_graph(region: Region, **changes: Any) -> Region:
    return replace(region, graph=replace(region.graph, **changes))


def test_the_plans_of_nests_pass_their_check():
    nest = nest_of(
        "a: int32[n, m], s: int32[n, 1], t: int32[n, m]",
        """
for k in range(n - 1):
    for i in range(k + 1, n):
        for j in range(m):
            t[i, j] = max(t[k, j], a[i, 3] if a[i, j] > 5 else a[i, j])
for i in range(n):
    for j in range(m):
        s[i, 0] += a[i, j]
""",
    )
    steps = plan(nest)
    check_plan(nest, steps)
    region = steps[-1]
    assert isinstance(region, Region)

    def require(text: str, **changes: Any) -> None:
        require_refused(nest, with_graph(region, **changes), text)

    require("a lattice without dimensions or arrays", shapes=())
    require("shape of z", shapes=(("z", region.graph.lattice),))
    access = region.graph.accesses[0]
    require(f"access to {access.array}", accesses=(replace(access, box=()),))
    require("node 0", nodes=region.graph.nodes[1:])


@pytest.mark.parametrize("kind", [Tensor, Stream])
def test_arrays_of_nodes_and_their_parts(kind: type[Tensor | Stream]):
    """What is loaded, and what is gathered."""
    nest = nest_of(
        "a: int32[n], b: int32[n], p: int32[n]", "for i in range(n): b[i] = a[i] + a[p[0]]"
    )
    (region,) = plan(nest)
    assert isinstance(region, Region)
    check_plan(nest, (region,))
    nodes = region.graph.nodes
    number = next(at for at, node in enumerate(nodes) if isinstance(node, kind))
    wrong: list[dict[str, Any]] = [{"array": "z"}, {"type": BY_NAME["int8"]}, {"box": ()}]
    if kind is Stream:
        wrong.append({"indices": (Indirect("z", (Affine(),), Affine()),)})
    for changes in wrong:
        made = (*nodes[:number], replace(nodes[number], **changes), *nodes[number + 1 :])
        require_refused(nest, with_graph(region, nodes=made), f"node {number}")


@pytest.mark.parametrize("step", [0, -1])
def test_loops_step_upwards(step: int):
    nest = nest_of(
        "a: int32[n, m]",
        "for k in range(n - 1):\n"
        "  for i in range(k + 1, n):\n"
        "    for j in range(m): a[i, j] -= a[k, j]",
    )
    (loop,) = plan(nest)
    assert isinstance(loop, Repeat)
    check_plan(nest, (loop,))
    require_refused(nest, replace(loop, step=step), f"loop over k: its step is {step}")
