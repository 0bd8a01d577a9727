"""What a region takes several times, computed once, and what its indices are called."""

from __future__ import annotations

import numpy as np
import pytest

from gnarl.sw.compiler.sam.fuse.regions import Fusion, Region, lower_regions
from gnarl.sw.compiler.sam.fuse.views import views_of
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.expression import Access
from tests.support.sam.models import compiled, golden, run


@pytest.mark.parametrize(
    "text",
    [
        "t(i,j)=exp(A(i,j)); y(i,j)=t(i,j)+t(i,j) -f=A:bb -f=y:bb",
        "t(i)=exp(A(i)); y(i)=t(i)*C(i) -f=A:s -f=C:s -f=y:s -r=t,y",
    ],
)
def test_what_is_taken_twice_or_a_result_is_computed_once(text: str) -> None:
    (lowered,) = lower_regions(Fusion(parse_program(text), (Region(("t", "y")),)))
    types = [block.type for block in lowered.table.emit().blocks]
    assert types.count("function") == 1


@pytest.mark.parametrize(
    "text",
    [
        "b(i,u0)=B(i,u0)*s; a(i)=x(i)*s -r=b,a",
        "b(u0,i)=B(u0,i)*s; a(i)=x(i)*s -r=b,a",
        "b(i)=sum[u0](B(i,u0)*s); a(i)=x(i)*s -r=b,a",
        "d(u0)=D(u0)*s; b(k,i)=B(k,i)*s; a(i)=x(i)*s -r=d,b,a",
    ],
)
def test_new_names_are_no_others(text: str) -> None:
    """An index i of another size than that before it is called u0, as users may call one."""
    program = parse_program(text)
    values = {"B": np.arange(6.0).reshape(2, 3), "D": np.arange(5.0), "s": 2.0, "x": np.arange(4.0)}
    tensors = {name: np.array(values[name]) for name in program.inputs}
    done = run(compiled(program, tensors, [[each.name for each in program.einsums]]), tensors)
    for name, words in golden(program, tensors).items():
        np.testing.assert_array_equal(done.got[name], words)


def test_a_result_that_is_taken_has_the_indices_of_what_takes_it() -> None:
    program = parse_program("t(i,j)=A(i,j)*2; y(b,a)=t(b,a)+1 -r=t,y")
    views = views_of(program, ("t", "y"), ("t", "y"))
    assert list(map(str, views.results)) == ["t(b,a)", "y(b,a)"]
    assert [view.statement for view in views.views] == ["t", "y"]
    found = views[views.results[0]]
    assert found is not None and found.statement == "t"
    assert views[Access("A", ("b", "a"))] is None


def test_a_tensor_that_is_taken_thrice_has_three_names_beside_others_of_that_form() -> None:
    program = parse_program(
        "t(i,j)=A(i,j)*2; t_2(i,j)=relu(A(i,j)); y(i,l)=sum[j,k](t(i,j)*t(j,k)*t(k,l))+t_2(i,l)"
    )
    views = views_of(program, ("t", "t_2", "y"), ("y",))
    names = [view.result.tensor for view in views.views]
    assert len(set(names)) == len(names) == 5
    tensors = {"A": np.array([[1.0, -2.0, 0.0], [0.0, 3.0, 1.0], [-1.0, 0.0, 2.0]])}
    done = run(compiled(program, tensors, [["t", "t_2", "y"]]), tensors)
    for name, words in golden(program, tensors).items():
        np.testing.assert_array_equal(done.got[name], words)
