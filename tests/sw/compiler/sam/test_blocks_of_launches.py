"""Models whose launches take what others wrote in blocks."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.sam.config import SamConfig
from gnarl.sw.compiler.sam.compile import compile
from gnarl.sw.compiler.sam.fuse.regions import Region
from gnarl.sw.compiler.sam.fuse.schedule import Schedule
from gnarl.sw.compiler.sam.sections import plan_of
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from tests.support.sam.models import valued_model

B = np.array([[1.0, 0, 2, 0], [0, 3, 0, 4]])
SCALED = "T(i,j)=B(i,j)*2"


def schedule(index: str) -> Schedule:
    """The first statement alone, in blocks; the others without."""
    return Schedule(regions=(Region(("T",), blocks=((index, 2),)), Region(("X",))))


@pytest.mark.parametrize(
    ("last", "formats", "is_needed"),
    [
        # Zeros that are stored, of what is infinite at 0 or meets infinities.
        ("X(i,j)=T(i,j)*reciprocal(T(i,j))", "T:ds", True),
        ("X(i,j)=T(i,j)*log(T(i,j))", "T:ds", True),
        ("X(i,j)=T(i,j)*exp(T(i,j))", "T:ds", True),
        ("X(i,j)=T(i,j)*T(i,j)", "T:ds", False),
        ("X(i,j)=exp(T(i,j))", "T:ds", False),
        # The sign of zeros, which only quotients tell.
        ("X(i,j)=reciprocal(T(i,j))", "T:dd", True),
        ("X(i,j)=reciprocal(exp(T(i,j)))", "T:dd", False),
        ("X(i,j)=log(T(i,j))", "T:dd", False),
    ],
)
def test_blocks_are_whole_where_later_launches_would_differ(
    last: str, formats: str, is_needed: bool
) -> None:
    model = valued_model(f"{SCALED}; {last} -f=B:ds -f={formats} -f=X:dd", {"B": B})
    program = compile(model, SamConfig(), schedule=schedule("j"))
    assert [plan_of(each.sections).whole for each in program.launches] == [
        ("j",) if is_needed else (),
        (),
    ]


def test_what_comes_in_between_passes_zeros_on() -> None:
    text = f"{SCALED}; U(i,j)=T(i,j)+T(i,j); X(i,j)=U(i,j)*reciprocal(U(i,j))"
    model = valued_model(f"{text} -f=B:ds -f=T:ds -f=U:ds -f=X:ds", {"B": B})
    regions = (Region(("T",), blocks=(("j", 2),)), Region(("U",)), Region(("X",)))
    program = compile(model, SamConfig(), schedule=Schedule(regions=regions))
    assert plan_of(program.launches[0].sections).whole == ("j",)


@pytest.mark.parametrize("index", "ij")
@pytest.mark.parametrize(
    ("last", "formats"),
    [("X(i,j)=T(i,j)*reciprocal(T(i,j))", "T:ds"), ("X(i,j)=reciprocal(T(i,j))", "T:dd")],
)
def test_partial_blocks_are_refused_and_whole_ones_are_right(
    index: str, last: str, formats: str
) -> None:
    model = valued_model(f"{SCALED}; {last} -f=B:ds -f={formats} -f=X:ds", {"B": B})
    with Device("sam_fp32", backend="model") as device:
        program = device.compile(model, schedule=schedule(index))
        partial = f"T: B[0,0] is in a block of 2 along {index} some of which have no entry"
        with pytest.raises(GnarlError, match=re.escape(partial)):
            device.run(program, {"B": B})
        result = device.run(program, {"B": np.ones((2, 4))})
        assert device.verify(result).bit_exact


@pytest.mark.parametrize("columns", [4, 5])
@pytest.mark.parametrize("counters", ["true", "false"])
def test_padding_is_stated(columns: int, counters: str) -> None:
    text, given = "x(i)=A(i,j) -f=x:d -f=A:ds -s=block(j,4)", {"A": np.ones((2, columns))}
    configuration = load_configuration("sam_fp32", (f"counters={counters}",))
    with Device(configuration, backend="model") as device:
        program = device.compile(text)
        figures = device.target.presenter.figures(program, device.run(program, given))
    name = program.launches[0].name
    padded = (
        f"{name}: blocks along j: 5 coordinates are 2 blocks of 4, the last padded with 3 zeros"
    )
    assert [each for each in figures.remarks if "blocks" in each] == [padded] * (columns == 5)
