"""From a statement to a program, and from a configuration's expression to its graph."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gnarl.hw.lib.errors import CapacityError, ConfigError
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.passes import StoppedError, Trace, named
from gnarl.sw.compiler.sam.compile import PASSES, compile, resolve
from gnarl.sw.compiler.sam.lower import lower
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.compiler.sam.workload import SamWorkload
from gnarl.sw.workloads.tensor.parser import parse
from tests.support.errors import refused

POOL = {
    "root": 1,
    "fiberlookup": 2,
    "intersect": 1,
    "arrayvals": 2,
    "alu": 1,
    "fiberwrite": 1,
    "valwrite": 1,
}


def workload(text: str) -> SamWorkload:
    return SamWorkload("tested", text, parse(text))


def test_the_trace_gets_every_pass_in_order() -> None:
    made: dict[str, Mapping[str, str]] = {}
    trace = Trace(write=lambda name, texts: made.update({name: texts}))
    copies = workload(f"{SUITE['matmul_ikj']} -s=parallelize(i,2) -s=block(j,4)")
    compile(copies, SamConfig(), trace=trace)
    names = [each.name for each in PASSES if each.name != "size_queues"]  # of models
    assert list(made) == [name for name in names if name != "configure"]
    compile(workload(SUITE["vec_elemmul"]), SamConfig(fabric=POOL), trace=trace)
    assert list(made) == names
    assert made["configure"]["txt"].splitlines()[0] == "0x00000001"


def test_a_result_is_an_operand_where_no_other_has_its_sizes() -> None:
    for text, inputs, output in [
        (SUITE["vec_elemmul"], [("b", ("i",)), ("c", ("i",))], ("x", ("i",))),
        (
            "X(i,j)=b(j) -f=X:ss -f=b:s",
            [("b", ("j",)), ("X", ("i", "j"))],
            ("X", ("i", "j")),
        ),
    ]:
        (launch,) = compile(workload(text), SamConfig()).launches
        assert [(spec.name, spec.shape) for spec in launch.inputs] == inputs
        assert [(spec.name, spec.shape) for spec in launch.outputs] == [output]


def test_a_compilation_stops_after_the_pass_that_it_is_told() -> None:
    with pytest.raises(StoppedError):
        compile(workload(SUITE["vec_elemmul"]), SamConfig(), trace=Trace(stop_after="verify"))


@pytest.mark.parametrize("fabric", [None, POOL])
def test_fabrics_do_not_skip(fabric: dict[str, int] | None) -> None:
    made: dict[str, Mapping[str, str]] = {}
    trace = Trace(write=lambda name, texts: made.update({name: texts}))
    program = compile(workload(SUITE["vec_elemmul"]), SamConfig(fabric=fabric), trace=trace)
    assert program.launches[0].statistics["blocks"] == 9
    assert ("skip=True" in made["verify"]["txt"]) == (fabric is None)


def test_bitvectors_need_wide_references() -> None:
    text = "x(i)=b(i)*c(i) -f=x:b -f=b:b -f=c:b"
    with pytest.raises(CapacityError) as caught:
        compile(workload(text), SamConfig(index_bits=16))
    assert str(caught.value) == (
        "index_bits = 16: must be 32 where tensors have bitvector levels, whose rows hold words "
        "of that width"
    )
    compile(workload(SUITE["vec_elemmul"]), SamConfig(index_bits=16))


def test_an_expression_becomes_the_configuration_s_graph() -> None:
    text = SUITE["vec_elemmul"]
    for skip in (True, False):
        config = resolve(SamConfig(expression=text, skip=skip))
        assert config.graph == lower(parse(text), skip=skip)
        assert resolve(config) is config
    assert resolve(SamConfig()).graph is None
    fabric = SamConfig(expression=text, fabric=POOL)
    assert resolve(fabric) is fabric


def test_what_cannot_be_resolved_names_the_field() -> None:
    with pytest.raises(ConfigError, match="^expression = 'x[(]i': "):
        resolve(SamConfig(expression="x(i"))
    with pytest.raises(ConfigError, match="^fabric: it must have"):
        resolve(SamConfig(fabric={"root": 1}))


@pytest.mark.parametrize("names", [[], ["merge_equal", "mark_skips"], ["parallelize", "configure"]])
def test_lists_of_passes_that_make_no_graph(names: list[str]) -> None:
    with refused("program: no pass makes its graph: must have lower"):
        compile(workload(SUITE["vec_elemmul"]), SamConfig(), passes=named(PASSES, names))


def test_lists_of_passes_that_leave_the_fabric_as_it_is() -> None:
    with refused("program: no pass places it on the fabric: must have configure"):
        compile(workload(SUITE["vec_elemmul"]), SamConfig(fabric=POOL), passes=PASSES[:-1])
