"""Tables of small regions, as text, one for each way in which operands are moved into a loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.passes import text_of
from gnarl.sw.compiler.sam.fuse.regions import Fusion, LoweredRegion, Region, lower_regions
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program
from tests.support.sam.models import compiled, golden, run

EXAMPLES = {
    # Sums of an accumulator: its coordinates as they come; every one, since rows are never empty;
    # every one, added behind it, since there may be no row at all.
    "accumulated": ("x(i,j)=sum[k](B(i,k)*C(k,j)) -f=B:ss -f=C:ss -f=x:ss", "ikj"),
    "accumulated_full": ("x(i,j)=sum[k](B(i,k)*C(k,j)) -f=B:ds -f=C:ss -f=x:dd", "ikj"),
    "accumulated_behind": ("x(i,j)=sum[k](B(i,k)*C(k,j)) -f=B:ss -f=C:ss -f=x:sd", "ikj"),
    # The same of two loops; what is around them must have every coordinate for full ones.
    "two_inside": ("x(i,j,m)=sum[k](A(i,k)*D(k,j,m)) -f=A:ss -f=D:sss -f=x:sss", "ikjm"),
    "two_inside_full": ("x(i,j,m)=sum[k](A(i,k)*D(k,j,m)) -f=A:ss -f=D:sss -f=x:ddd", "ikjm"),
    "two_inside_half": ("x(i,j,m)=sum[k](A(i,k)*D(k,j,m)) -f=A:ss -f=D:sss -f=x:ssd", "ikjm"),
    # The outer one of two accumulators has every coordinate for both.
    "one_inside_another": (
        "x(i,j,m)=sum[k,l](A(i,k)*B(k,j,l)*C(l,m)) -f=A:ss -f=B:sss -f=C:ss -f=x:sdd",
        "ikjlm",
    ),
    # Intermediates: computed where they are taken; beside the loop, if two take them.
    "taken_once": ("t(i)=A(i)+B(i); y(i)=t(i)*C(i) -f=A:s -f=B:s -f=C:s -f=y:s", "i"),
    "taken_twice": (
        "t(i)=A(i)*B(i); y(i)=t(i)*C(i); z(i)=t(i)+D(i) -f=A:s -f=B:s -f=C:s -f=D:s -f=y:s -f=z:s",
        "i",
    ),
    # Twice in one of these: its rows are still never empty.
    "taken_thrice": (
        "t(i,j)=A(i,j)+B(i,j); y(i,j)=t(i,j)*t(i,j); z(i,j)=t(i,j) -f=A:ss -f=B:ss -f=y:ss -f=z:ss",
        "ij",
    ),
    # Words of bitvectors are joined in pairs; the third one's ones, with the coordinates of others.
    "bitvectors": (
        "y(i)=A(i)*B(i)*C(i)*D(i)*E(i) -f=A:b -f=B:b -f=C:b -f=D:s -f=E:d -f=y:b",
        "i",
    ),
    "four_bitvectors": ("y(i)=A(i)*B(i)*C(i)*D(i) -f=A:b -f=B:b -f=C:b -f=D:b -f=y:b", "i"),
    # Zeros of a function that is not 0 at 0 are dropped, and then rows without any entry.
    "zeros": ("x(i,j)=exp(B(i,j))-b -f=B:ss -f=x:ss", "ij"),
    # Its lane beside another has one reference, not that of every coordinate, too.
    "function_of_what_is_missing": ("y(i)=exp(A(i))*B(i) -f=A:s -f=B:s -f=y:s", "i"),
    # A product's zeros stay, whatever is around.
    "dense_outside": ("x(i,j)=B(i,j)*C(i,j) -f=B:ds -f=C:ds -f=x:ds", "ij"),
    # A dense level below a compressed one has every coordinate.
    "dense_below": ("x(i,j,k)=B(i,j,k)*C(i,j,k) -f=B:sss -f=C:sss -f=x:sds", "ijk"),
    "sums_of_two_loops": (
        "x(i)=sum[j](B(i,j)*c(j))+sum[k](D(i,k))+e(i) -f=B:ds -f=c:d -f=D:ds -f=e:s",
        "ijk",
    ),
    "scalar": ("x=sum[i](max[j](B(i,j))*c(i)) -f=B:ss -f=c:s", "ij"),
    "constants": ("y(i)=-A(i)/(2.0*b) -f=A:s -f=y:s", "i"),
}


def lowered(text: str, order: str) -> tuple[EinsumProgram, LoweredRegion]:
    program = parse_program(text)
    names = tuple(each.name for each in program.statements)
    (found,) = lower_regions(Fusion(program, (Region(names, tuple(order)),)))
    return program, found


def shown(region: LoweredRegion) -> str:
    """The table, and which of the coordinates of accumulators are full, the innermost first."""
    lines = [
        f"{cell.name}: {[cell.parameters[f'full{n}'] for n in range(cell.parameters['order'])]}\n"
        for cell in region.table.cells
        if cell.type == "spaccumulator"
    ]
    return text_of(region.table.text()) + "".join(lines)


@pytest.mark.parametrize("name", EXAMPLES)
def test_tables(name: str) -> None:
    _, region = lowered(*EXAMPLES[name])
    assert shown(region) == (Path(__file__).parent / "tables" / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", EXAMPLES)
def test_graphs_have_what_writers_need(name: str) -> None:
    graph = lowered(*EXAMPLES[name])[1].table.emit()
    read = {source for source, _ in graph.readers}
    assert [block.name for block in graph.blocks if block.outputs and block.name not in read] == []


PRODUCT = "x(i,j,k,m)=B(i,j,k,m)*C(i,j,k,m) -f=B:ssss -f=C:ssss -f=x:"
MORE = {
    # A stream of two levels that is walked to its end before another loop.
    "loop_inside_a_stream": (
        "t(j,k)=sum[i](A(i,j,k)); y(j,k,m)=t(j,k)*c(m) -f=A:sss -f=c:s -f=y:sss",
        "ijkm",
    ),
    # Levels of results below ones that may be empty, and a dense one below one that never is.
    **{f"product_{levels}": (PRODUCT + levels, "ijkm") for levels in ("ssss", "ssdd", "sdds")},
    "dense_below_what_is_stored": ("x(i,j,k,m)=B(i,j,k,m)*a -f=B:ssss -f=x:ssds", "ijkm"),
}


@pytest.mark.parametrize("name", [*EXAMPLES, *MORE])
def test_they_compute_what_statements_mean(name: str) -> None:
    text, order = (EXAMPLES | MORE)[name]
    program, region = lowered(text, order)
    noise = np.random.default_rng(0)
    sizes = {index: 5 for index in "ijklm"}
    shapes = {
        access.tensor: tuple(sizes[index] for index in access.indices)
        for access in region.views.inputs()
    }
    assert program_shapes(program, shapes)
    tensors = {
        each: np.where(noise.random(shape) < 0.4, noise.integers(1, 9, shape) / 8, 0)
        for each, shape in shapes.items()
    }
    names = tuple(each.name for each in program.statements)
    found = run(compiled(program, tensors, [Region(names, tuple(order))]), tensors)
    expected = golden(program, tensors)
    for result, words in found.got.items():
        np.testing.assert_array_equal(words, expected[result])


@pytest.mark.parametrize(
    ("text", "order", "error"),
    [
        (
            "y(j,k,l)=sum[i](A(i,j,k,l)) -f=A:ssss",
            "ijkl",
            "loop order i,j,k,l: index i is summed outside of j, k, l; a sparse accumulator holds "
            "at most 2 indices, put i further inside",
        ),
        (
            "x(i,j,k,l)=B(i,j,k,l)*C(i,j,k,l) -f=B:ssss -f=C:ssss -f=x:ssds",
            "ijkl",
            "level 3 of x cannot be compressed below a dense level that lies below level 1, "
            "compressed; make level 3 dense, or level 2 compressed",
        ),
        (
            "x(i,j,k,l,m)=B(i,j,k,l,m)*C(i,j,k,l,m) -f=B:sssss -f=C:sssss -f=x:ssdds",
            "ijklm",
            "level 4 of x cannot be compressed below a dense level that lies below level 1, "
            "compressed; make level 4 dense, or level 3 compressed",
        ),
        (
            "t(j,k)=sum[i](A(i,j,k)); y(j,k)=t(j,k)*B(j,k) -f=A:sss -f=B:ss",
            "ijk",
            "loop order i,j,k: what is computed over j and k cannot be joined in the loop over j; "
            "put the loops over k elsewhere, or cut the region",
        ),
        (
            "t(j,k)=sum[i](A(i,j,k)); y(j,k)=B(j,k)*t(j,k) -f=A:sss -f=B:ss",
            "ijk",
            "loop order i,j,k: what is computed over j and k cannot be joined in the loop over j; "
            "put the loops over k elsewhere, or cut the region",
        ),
        (  # though the first stream has no other level
            "u(j)=sum[l](C(l,j)); t(j,k)=sum[i](A(i,j,k)); y(j,k)=u(j)*t(j,k) -f=A:sss -f=C:ss",
            "lijk",
            "loop order l,i,j,k: what is computed over j and k cannot be joined in the loop over "
            "j; put the loops over k elsewhere, or cut the region",
        ),
        (
            "t(j,k)=sum[i](A(i,j,k)); y(j,l,k)=t(j,k)*c(l) -f=A:sss -f=c:s -f=y:sss",
            "ijlk",
            "loop order i,j,l,k: what is computed over j and k would be walked again in each turn "
            "of the loop over l; put it inside of k, or cut the region",
        ),
        (  # beside a number, which each loop takes
            "s=sum[l](c(l)); t(j,k)=sum[i](A(i,j,k)); y(j,k)=s*t(j,k)*B(j,k) -f=A:sss -f=B:ss",
            "lijk",
            "loop order l,i,j,k: what is computed over j and k cannot be joined in the loop over "
            "j; put the loops over k elsewhere, or cut the region",
        ),
        (
            "a(i,j)=A(i)*B(j); m(i)=sum[j](a(i,j)); e(i,j)=a(i,j)-m(i) -f=A:s -f=B:s -f=e:dd:1,0",
            "ji",
            "loop order j,i: index j is reduced inside of its own loop; put its loop further "
            "inside, or cut the region",
        ),
        (  # which may have no row at all, although another operand has every coordinate
            "t(i,j,m)=sum[k](A(i,k)*C(i,k)*D(k,j,m)); x(i,j,m)=t(i,j,m)+E(i,j,m)*F(i,j,m) "
            "-f=A:ss -f=C:ss -f=D:sss -f=E:sdd -f=F:sdd -f=x:sss",
            "ikjm",
            "loop order i,k,j,m: what is computed over j and m cannot be joined in the loop over "
            "j; put the loops over m elsewhere, or cut the region",
        ),
    ],
)
def test_what_has_no_table_is_refused(text: str, order: str, error: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        lowered(text, order)
    assert str(caught.value).endswith(error)


def test_sums_that_have_every_coordinate_are_stored_dense() -> None:
    """Where the schedule leaves it open: a row of A with entries has all of those of B."""
    program = parse_program("t(i,j)=sum[k](A(i,k)*B(k,j)); y(i)=sum[j](t(i,j)) -f=A:ss")
    regions = Region(("t",), ("i", "k", "j")), Region(("y",))
    first, _ = lower_regions(Fusion(program, regions))
    assert first.formats["t"].notation == "sd:0,1"


def test_rows_that_have_every_coordinate_are_not_dropped() -> None:
    text = "x(i,j)=sum[k](B(i,k)*C(k,j)) -f=B:ds -f=C:ss -f=x:sd"
    graph = lowered(text, "ikj")[1].table.emit()
    assert not [block.name for block in graph.blocks if block.type == "crddrop"]


def test_what_is_empty_once_zeros_are_dropped_is_dropped_at_each_level() -> None:
    graph = lowered("x(i,j,k)=exp(B(i,j,k))-b -f=B:sss -f=x:sss", "ijk")[1].table.emit()
    drops = [block.name for block in graph.blocks if block.type in ("valdrop", "crddrop")]
    assert sorted(drops) == ["drop_i_j", "drop_j_k", "drop_zeros_k"]


def test_what_several_take_is_summed_once() -> None:
    """Though one of them alone would have it with every coordinate."""
    text = (
        "t(i,j)=sum[k](A(i,k)*B(k,j)); y(i,j)=t(i,j)*C(j); z(i,j)=t(i,j)+D(j) "
        "-f=A:ds -f=B:ss -f=C:s -f=D:s -f=y:ss -f=z:dd"
    )
    graph = lowered(text, "ikj")[1].table.emit()
    assert [block.name for block in graph.blocks if block.type == "spaccumulator"] == [
        "accumulate_k"
    ]


def test_fibers_of_sums_below_every_coordinate_may_be_empty() -> None:
    text = (
        "t(i,j,m)=sum[k](A(i,k)*D(k,j,m)); y(i,j,m)=t(i,j,m)+E(i,j,m) "
        "-f=A:ds -f=D:sss -f=E:dds -f=y:dss"
    )
    region = lowered(text, "ikjm")[1]
    assert "accumulate_k: [False, True]" in shown(region)
    assert "drop_j_m" in {block.name for block in region.table.emit().blocks}
