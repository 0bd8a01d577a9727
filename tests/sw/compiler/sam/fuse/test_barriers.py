"""Statements that move elements: regions end there, and hosts store what they make."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.compile import compile
from gnarl.sw.compiler.sam.fuse.barriers import with_moved
from gnarl.sw.compiler.sam.fuse.regions import regions_of
from gnarl.sw.compiler.sam.fuse.schedule import Schedule, read_schedule
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import refused
from tests.support.sam.models import CONFIG, compiled, golden, model_of, run

HEADS = (
    "q(t,m)=sum[i](x(t,i)*W(i,m)); h(a,t,d)=reshape[a:2](q(t,m)); "
    "y(a,t)=sum[d](h(a,t,d)*h(a,t,d)); z(t)=sum[a](y(a,t)); b(s)=slice[t:1:4](v(t)); "
    "w(t)=z(t)*b(t)"
)


def test_a_layer_is_cut_where_a_barrier_is_in_it() -> None:
    program = parse_program(HEADS)
    assert [each.statements for each in regions_of(program, "layer")] == [("q",), ("y", "z", "w")]
    assert [each.statements for each in regions_of(program, "none")] == [
        ("q",),
        ("y",),
        ("z",),
        ("w",),
    ]


def test_statements_that_share_more_than_a_barrier_are_cut_there() -> None:
    program = parse_program("a(i)=relu(x(i)); r(j)=reshape(a(i)); c(i)=a(i)*r(i)")
    assert [each.statements for each in regions_of(program, "layer")] == [("a",), ("c",)]


def test_a_barrier_behind_what_another_region_computes_cuts_nothing() -> None:
    program = parse_program("a(i)=relu(x(i)); b(i)=exp(x(i)); r(j)=reshape(a(j)); c(i)=b(i)*r(i)")
    layers = {"a": "one", "b": "two", "c": "two"}
    statements = tuple(replace(s, layer=layers.get(s.name, "")) for s in program.statements)
    regions = regions_of(replace(program, statements=statements), "layer")
    assert [each.statements for each in regions] == [("a",), ("b", "c")]


@pytest.mark.parametrize(
    ("statement", "formats", "wanted"),
    [
        ("r(i,j)=slice[k:0:2](A(k,j))", {"A": "ds"}, "ds01"),
        ("r(j,i)=slice[k:0:2](A(k,j))", {"A": "ds"}, "ds10"),
        ("r(i,j)=slice[k:0:2](A(k,j))", {"A": "ds:1,0"}, "ds10"),
        ("r(k)=slice[j:0:1](A(k,j))", {"A": "ds"}, "d0"),
        ("r(i,j)=concat(A(k,j),B(l,j))", {"A": "ds", "B": "ss"}, "ss01"),
        ("r(i,j)=concat(A(k,j),B(l,j))", {"A": "ds", "B": "dd"}, "ds01"),
        ("r(i,k,l)=concat(A(k,l),B(k,l))", {"A": "ds", "B": "ds"}, "dds012"),
        ("r(m)=reshape(A(k,l))", {"A": "dd"}, "d0"),
        ("r(m)=reshape(A(k,l))", {"A": "ds"}, "s0"),
        ("r(k,m,n)=reshape[m:2](A(k,l))", {"A": "ds"}, "dss012"),
        ("r(m,n,k)=reshape[m:2](A(k,l))", {"A": "bb"}, "bbb201"),
        ("r(m,k,l)=reshape(A(k,l))", {"A": "ss"}, "dss012"),
        ("r(k,m)=reshape(v(k))", {"v": "s"}, "ds10"),
        ("r=slice[j:0:1](v(j))", {"v": "s"}, "none"),
        ("r(i,j)=pattern[gt:0](A(i,j))", {"A": "dd:1,0"}, "ds01"),
        ("r(i,j)=kept(A(i,j))", {"A": "ss:1,0"}, "ss01"),
        ("r(i,j)=stored(A(i,j))", {"A": "dd:1,0"}, "ds10"),
    ],
)
def test_formats_of_what_is_moved(statement: str, formats: dict[str, str], wanted: str) -> None:
    options = " ".join(f"-f={name}:{each}" for name, each in formats.items())
    program = parse_program(f"{statement}; x=sum[z](w(z)) {options} -r=x")
    assert str(with_moved(program, program.formats)["r"]) == wanted


def test_formats_that_are_chosen_stay() -> None:
    text = "t(i,j)=relu(A(i,j)); r(k)=reshape(t(i,j)); y(k)=exp(r(k)) -f=A:ss -f=r:d"
    program = compiled(text, {"A": np.eye(3)})
    assert [str(spec.storage.kind) for spec in program.launches[1].inputs] == ["dense"]
    (step,) = program.steps
    assert [spec.storage.kind for spec in (*step.inputs, step.output)] == ["sparse", "dense"]


def test_a_program_that_computes_nothing_is_refused() -> None:
    program = parse_program("r(i)=slice[k:0:2](a(k)); s(i,j)=reshape(r(i))", "moves")
    with refused(
        "moves: elements are moved, and nothing is computed: must have a statement that computes "
        "something"
    ):
        compiled(program, {"a": np.ones(3)})


REGIONS = """
[[region]]
statements = {one}
[[region]]
statements = {other}
"""


@pytest.mark.parametrize(
    ("one", "other", "problem"),
    [
        (
            '["q", "h"]',
            '["y", "z", "w"]',
            "region 1: h is a reshape, which the host makes between regions: must be in none",
        ),
        (
            '["q", "y"]',
            '["z", "w"]',
            "region 1: y takes h, which the host makes of q behind region 1: must be in a later "
            "one",
        ),
        ('["q"]', '["y", "z"]', "region: no region has w"),
        ('["y", "z", "w"]', '["q"]', "region 1: y takes h, which the host makes of q behind "),
    ],
)
def test_schedules_with_barriers_in_regions_are_refused(
    tmp_path: Path, one: str, other: str, problem: str
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(REGIONS.format(one=one, other=other))
    with pytest.raises(WorkloadError, match=re.escape(f"{path}: {problem}")):
        compile(model_of(parse_program(HEADS), SHAPES), CONFIG, schedule=path)


SHAPES = {
    name: Tensor.from_any(np.arange(1.0, 1 + np.prod(shape)).reshape(shape) % 5)
    for name, shape in {"x": (3, 4), "W": (4, 6), "v": (5,)}.items()
}


def test_a_schedule_that_was_written_gives_the_same_program(tmp_path: Path) -> None:
    model, path = model_of(parse_program(HEADS), SHAPES), tmp_path / "s.toml"
    first = compile(model, CONFIG, fuse="layer", schedule_out=path)
    assert "# the host makes h(a,t,d)=reshape[a:2](q(t,m))\n" in path.read_text()
    assert [each.statements for each in read_schedule(path).regions] == [("q",), ("y", "z", "w")]
    second = compile(model, CONFIG, schedule=path)
    assert first.steps == second.steps
    assert [each.digest for each in first.launches] == [each.digest for each in second.launches]
    done = run(first, SHAPES)
    np.testing.assert_array_equal(done.got["w"], golden(model.program, SHAPES)["w"])


def test_a_product_is_not_associated_through_a_barrier() -> None:
    text = "t(i,j)=sum[k](A(i,k)*B(k,j)); r(j,i)=reshape(t(i,j)); y(j,l)=sum[i](r(j,i)*C(i,l))"
    shapes = {name: np.ones((2, 2)) for name in "ABC"}
    model = model_of(parse_program(text), {name: Tensor.from_any(a) for name, a in shapes.items()})
    with pytest.raises(WorkloadError, match="the model has no product of just A, B, C"):
        compile(model, CONFIG, schedule=Schedule(associate=("A*(B*C)",)))
