"""Where fibers of results may be empty, and which writers record that."""

from __future__ import annotations

import pytest

from gnarl.hw.sam.graph import Graph
from gnarl.sw.compiler.sam.drops import writers_of
from gnarl.sw.compiler.sam.empty_fibers import recorded
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.sam.graphs import drops, undropped, without

PRODUCT = "X(i,j,k)=B(i,j,k)*C(i,j,k)"
SUM = "X(i,j,k)=B(i,j,k)+C(i,j,k)"


def kept(graph: Graph) -> str:
    """Levels, outermost first, whose writers record every fiber: + or -."""
    flags = recorded(graph)
    return "".join("-+"[flags[writer.name]] for writer in writers_of(graph)["X"])


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        (f"{PRODUCT} -f=X:sss -f=B:sss -f=C:sss", "+++"),
        (f"{PRODUCT} -f=X:bsb -f=B:bss -f=C:sbb", "+++"),
        # What is stored has no empty fiber below a compressed level; below a dense one it may.
        ("X(i,j,k)=B(i,j,k) -f=X:sss -f=B:sss", "++-"),
        ("X(i,j,k)=B(i,j,k) -f=X:sbs -f=B:bbs", "++-"),
        ("X(i,j,k)=B(i,j,k) -f=X:sss -f=B:sds", "+++"),
        ("X(i,j,k)=B(i,j,k)*c(j) -f=X:sss -f=B:sss -f=c:d", "++-"),
        ("X(i,j,k)=B(i,j)*C(i,k) -f=X:sss -f=B:ss -f=C:ss", "++-"),
        # One part of a sum is there.
        (f"{SUM} -f=X:sss -f=B:sss -f=C:sss", "++-"),
        (f"{SUM} -f=X:sss -f=B:sss -f=C:sds", "+++"),
        (f"{SUM}+D(i,j,k) -f=X:sss -f=B:sss -f=C:sbb -f=D:bss", "++-"),
        ("X(i,j,k)=B(i,j,k)+C(i,j)*d(k) -f=X:sss -f=B:sss -f=C:ss -f=d:s", "+++"),
        ("X(i,j,k)=B(i,j,k)+C(i,j)*d(k) -f=X:sss -f=B:sss -f=C:ss -f=d:d", "++-"),
        # Accumulators give no coordinate without one inside.
        (
            "X(i,j,k)=B(l,j)*C(l,k)*D(i,l) -f=X:sss -f=B:ss -f=C:ss -f=D:ss -s=reorder(i,l,j,k)",
            "++-",
        ),
        ("X(i,j,k)=B(i,j,l)*C(l,k) -f=X:sss -f=B:sss -f=C:ss -s=reorder(i,j,l,k)", "+++"),
        # Levels below dense ones record all, and need to know which are none.
        ("X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:sds -f=B:sds -f=C:sds", "+++"),
        ("X(i,j,k)=B(i,j,k)*C(i,j,k) -f=X:dss -f=B:dss -f=C:dss", "+++"),
    ],
)
def test_writers_record_what_may_be_empty(text: str, levels: str) -> None:
    assert kept(undropped(text)) == levels


def test_what_is_dropped_is_not_recorded() -> None:
    graph = lower(parse(f"{PRODUCT} -f=X:sss -f=B:sss -f=C:sss"))
    assert drops(graph) == ["drop_j_k", "drop_i_j"]
    assert kept(graph) == "+--"
    assert kept(without(graph, frozenset({"drop_i_j"}))) == "++-"
    assert kept(without(graph, frozenset({"drop_j_k"}))) == "+++"


def test_levels_outside_of_recorded_ones_are_recorded_though_dropped() -> None:
    statement = "X(i,j,k,l)=B(i,j,k,l)*C(i,j,k,l) -f=X:ssss -f=B:ssss -f=C:ssss"
    graph = lower(parse(statement))
    assert drops(graph) == ["drop_k_l", "drop_j_k", "drop_i_j"]
    assert kept(graph) == "+---"
    # The stops of l tell empty fibers of k from empty ones around them by what k recorded.
    assert kept(without(graph, frozenset({"drop_k_l", "drop_i_j"}))) == "++++"
