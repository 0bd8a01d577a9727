"""Schedules: what is written is read again, and files that do not fit are refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.sam.compile import compile
from gnarl.sw.compiler.sam.fuse.regions import Region, regions_of
from gnarl.sw.compiler.sam.fuse.schedule import Schedule, read_schedule
from gnarl.sw.compiler.sam.sections import encode, plan_of
from gnarl.sw.compiler.sam.workload import SamModel
from gnarl.sw.program.program import Program
from gnarl.sw.workloads.einsum.program import EinsumProgram
from gnarl.sw.workloads.einsum.shapes import program_shapes
from gnarl.sw.workloads.einsum.text import parse_program
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.errors import noted, refused
from tests.support.sam.models import CONFIG, golden, model_of, run
from tests.support.sam.programs import make_program

LAYERS = (
    "t(i,m)=sum[k](A(i,k)*X(k,m)); p(i,j)=sum[m](t(i,m)*W(m,j)); h(i,j)=relu(p(i,j)+b(j)); "
    "y(i,j)=sum[k](A(i,k)*h(k,j)) -f=A:ds -f=X:ds"
)
SHAPES = {"A": (5, 5), "X": (5, 4), "W": (4, 3), "b": (3,)}


def model(text: str = LAYERS) -> SamModel:
    """The model ``net``, whose users call ``W`` and ``b`` ``fc.weight`` and ``fc.bias``."""
    program = replace(parse_program(text, "net"))
    shapes = program_shapes(program, {name: SHAPES[name] for name in program.inputs}).tensors
    return SamModel("net", program, shapes, {}, {}, {"W": "fc.weight", "b": "fc.bias"})


def with_layers(own: SamModel) -> SamModel:
    """The model with its last statement in another layer than the others."""
    *first, last = own.program.statements
    statements = (*(replace(each, layer="a") for each in first), replace(last, layer="b"))
    return replace(own, program=replace(own.program, statements=statements))


def plans(program: Program) -> list[Any]:
    """What launches do, but for remarks: a schedule does not say why the compiler cut a region."""
    found = []
    for each in program.launches:
        plan = replace(plan_of(each.sections), remarks=())
        found.append((each.name, encode(plan).tobytes(), each.digest))
    return found


@pytest.mark.parametrize(
    "options",
    [
        {"fuse": "none"},
        {"fuse": "layer"},
        {"fuse": "layer", "iteration": "global"},
        {"schedule": Schedule(associate=("A*(X*fc.weight)",))},
        {"schedule": Schedule(formats={"A": "ss", "fc.weight": "dd:1,0", "t": "ss:0,1"})},
        {"schedule": Schedule(regions=(Region(("t", "p", "h", "y"), lanes=(("i", 2),)),))},
    ],
)
def test_a_schedule_that_was_written_gives_the_same_program(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    own, path = with_layers(model()), tmp_path / "s.toml"
    first = compile(own, CONFIG, schedule_out=path, **options)
    text = path.read_text()
    again = compile(own, CONFIG, schedule=path, schedule_out=path)
    assert plans(again) == plans(first)
    assert path.read_text() == text


def test_random_programs(tmp_path: Path) -> None:
    path, lowered = tmp_path / "s.toml", 0
    for seed in range(30):
        case = make_program(seed)
        own = model_of(case.program, case.tensors)
        try:
            first = compile(own, CONFIG, schedule_out=path)
        except WorkloadError:
            continue
        with noted(path.read_text()):
            assert plans(compile(own, CONFIG, schedule=path)) == plans(first)
        lowered += 1
    assert lowered > 15


def test_what_is_written() -> None:
    own = with_layers(model())
    assert schedule_of(own) == (
        'model = "net"\n\n[formats]\n"A" = "ds:0,1"\n"X" = "ds:0,1"\n"fc.weight" = "dd:0,1"\n'
        '"fc.bias" = "d:0"\n"h" = "dd:0,1"\n"y" = "dd:0,1"\n\n'
        '[[region]]\nstatements = ["t", "p", "h"]\norder = ["i", "k", "m", "j"]\n'
        'iteration = "factored"\n\n'
        '[[region]]\nstatements = ["y"]\norder = ["i", "k", "j"]\niteration = "factored"\n'
    )


def schedule_of(own: SamModel) -> str:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "s.toml"
        compile(own, CONFIG, schedule_out=path)
        return path.read_text()


REGIONS = '[[region]]\nstatements = ["t", "p", "h", "y"]\n'
TWO = '[[region]]\nstatements = ["t", "p"]\n[[region]]\nstatements = ["h", "y"]\n'


def test_a_dense_tensor_stays_as_the_schedule_stores_it() -> None:
    """Else it is stored to suit the loops."""
    program = parse_program("y(i,j)=sum[k](A(i,k)*W(j,k)) -f=A:ds", "net")
    own = SamModel("net", program, {"A": (5, 5), "W": (3, 5), "y": (5, 3)}, {}, {}, {})

    def stored(formats: dict[str, str]) -> str:
        launch = compile(own, CONFIG, schedule=Schedule(formats=formats)).launches[0]
        return str(plan_of(launch.sections).kernel.formats["W"])

    assert (stored({}), stored({"W": "dd"}), stored({"W": "dd:1,0"})) == ("dd10", "dd01", "dd10")


def test_the_least_bound(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f"{REGIONS}longest = {{ k = 1 }}\n")
    (launch,) = compile(model(), CONFIG, schedule=path).launches
    assert plan_of(launch.sections).longest == {"k": 1}


def test_a_mask_is_stored_where_it_has_entries() -> None:
    """Else its rows' maxima would be of zeros, too."""
    text = "y(i)=greatest[k](A(i,k)*(A(k,i)+0)); z(i)=exp(y(i)) -f=A:ds"
    with refused(
        "formats: statement y, column 18: greatest is of A(i,k), and A may be stored "
        "with zeros where it has no entry: must have a format whose last level is not dense, or "
        "be (A(i,k)+0), which is everywhere"
    ):
        compile(model(text), CONFIG, schedule=Schedule(formats={"A": "sd"}))
    compile(model(text), CONFIG, schedule=Schedule(formats={"A": "ss:1,0"}))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("fuse = 1", "unknown field 'fuse': must be model or associate or formats or region"),
        ("model = 3", "model = '3': must be text"),
        ('model = "other"', "model = 'other': the schedule is for another model than net"),
        ('associate = "A*(X*W)"', "associate = 'A*(X*W)': must be a list"),
        ("associate = [3]", "associate: '3': must be text"),
        ('associate = ["A+X"]', "associate 'A+X': must be a product of tensors, as A*(X*W)"),
        ('associate = ["A*Q"]', "associate 'A*Q': the model has no product of just A, Q"),
        ("formats = 3", "formats = '3': must be a table"),
        ("formats.A = 3", "A = '3': must be text"),
        ('formats.Q = "ds"', "formats: 'Q': the model has no such tensor"),
        ('region = "t"', "region = 't': must be a list"),
        ("region = [3]", "region 1: must be a table"),
        ("[[region]]", "region 1: statements: must name at least one"),
        ('[[region]]\nstatements = "t"', "region 1: statements = 't': must be a list"),
        (
            f"{REGIONS}fuse = true",
            "region 1: unknown field 'fuse': must be statements or order or before or iteration or "
            "longest or lanes or blocks",
        ),
        (REGIONS.replace('"y"', '"z"'), "region 1: statement 'z': the model has t, p, h, y"),
        (REGIONS.replace(', "y"', ""), "region: no region has y"),
        (f"{REGIONS}{REGIONS}", "region 2: t is in region 1 already"),
        (
            '[[region]]\nstatements = ["t", "h", "y"]\n[[region]]\nstatements = ["p"]\n',
            "region 1: h takes p, which region 2 computes later",
        ),
        (
            f'{REGIONS}iteration = "none"',
            "region 1: iteration = 'none': must be factored or global",
        ),
        *(
            (
                f"{REGIONS}longest = {{ k = {bound} }}",
                f"region 1: longest.k = {shown}: must be a whole number of at least 1",
            )
            for bound, shown in (("0", "0"), ("2.5", "2.5"), ("true", "True"), ('"3"', "'3'"))
        ),
        *(
            (
                f"{REGIONS}lanes = {{ k = {number} }}",
                f"region 1: lanes.k = {shown}: must be a whole number, 2 to 16, or a "
                "product of two such numbers up to 64",
            )
            for number, shown in (
                ("1", "1"),
                ("0", "0"),
                ("-4", "-4"),
                ("17", "17"),
                ("66", "66"),
                ("2.0", "2.0"),
                ("true", "True"),
            )
        ),
        *(
            (
                f"{REGIONS}blocks = {{ k = {number} }}",
                f"region 1: blocks.k = {shown}: must be 2, 4, 8, 16, 32 or 64",
            )
            for number, shown in (
                ("1", "1"),
                ("3", "3"),
                ("-4", "-4"),
                ("128", "128"),
                ("4.0", "4.0"),
                ("true", "True"),
            )
        ),
        (f"{REGIONS}blocks = 4", "region 1: blocks = '4': must be a table"),
        (f"{REGIONS}lanes = 4", "region 1: lanes = '4': must be a table"),
        (f"{REGIONS}order = 3", "region 1: order = '3': must be a list"),
        (f"{REGIONS}order = [3]", "region 1: order: '3': must be text"),
        (f"{REGIONS}before = [3]", "region 1: before = '3': must be a list"),
        ("model = ", "Invalid value (at end of document)"),
    ],
)
def test_files_that_do_not_fit(tmp_path: Path, text: str, problem: str) -> None:
    path, written = tmp_path / "s.toml", tmp_path / "written.toml"
    path.write_text(text)
    with pytest.raises(WorkloadError) as caught:
        compile(model(), CONFIG, schedule=path, schedule_out=written)
    assert str(caught.value) == f"{path}: {problem}"
    assert not written.exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('formats.A = "d"', "formats: 'A': "),
        ('formats.A = "dx"', "formats: 'A': "),
        ('formats.A = "ds:0,0"', "formats: 'A': "),
        ('formats."fc.weight" = ""', "formats: 'fc.weight': "),
        (f'{REGIONS}order = ["k", "i"]', "order k,i: must have each of "),
        (f'{TWO}order = ["q"]', "order q: must have each of "),
        (f"{REGIONS}longest = {{ q = 3 }}", "region 1: longest: index q is not in the region"),
        (f"{REGIONS}lanes = {{ q = 3 }}", "region 1: lanes: index q is not in the region; it has"),
        (f"{REGIONS}blocks = {{ q = 2 }}", "region 1: blocks: index q is not in the region; it"),
        (
            f"{TWO}lanes = {{ j = 2 }}",
            "region 2: parallelize(j,2): no block lies inside the loop over j",
        ),
        (f'{REGIONS}before = [["i", "q"]]', "index q is not in the region; it has "),
        (
            '[[region]]\nstatements = ["t"]\norder = ["k", "i", "m"]\n'
            '[[region]]\nstatements = ["p", "h", "y"]\n',
            "order k,i,m: i must be outside of k: A(i,k) is stored ds01",
        ),
        (
            '[[region]]\nstatements = ["t", "h"]\n[[region]]\nstatements = ["p", "y"]\n',
            "region 1: h takes p, which region 2 computes later",
        ),
        (
            '[[region]]\nstatements = ["t", "q", "y"]\n[[region]]\nstatements = ["p", "h"]\n',
            "region 1: statement 'q': the model has t, p, h, y",
        ),
        (
            '[[region]]\nstatements = ["t"]\nbefore = [["k", "i"]]\n'
            '[[region]]\nstatements = ["p", "h", "y"]\n',
            "no order of loops fits: ",
        ),
    ],
)
def test_schedules_that_do_not_fit_the_model(tmp_path: Path, text: str, problem: str) -> None:
    path, written = tmp_path / "s.toml", tmp_path / "written.toml"
    path.write_text(text)
    with pytest.raises(WorkloadError) as caught:
        compile(model(), CONFIG, schedule=path, schedule_out=written, copies=False)
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not written.exists()


@pytest.mark.parametrize("option", [{"fuse": "none"}, {"iteration": "global"}])
def test_options_beside_regions(tmp_path: Path, option: dict[str, str]) -> None:
    path = tmp_path / "s.toml"
    path.write_text(REGIONS)
    (name,) = option
    with refused(f"{path}: {name}: the schedule has regions: must be left out"):
        compile(model(), CONFIG, schedule=path, **option)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"fuse": "all"}, "fuse = all: must be none or layer or full"),
        ({"iteration": "x"}, "iteration = x: must be factored or global"),
    ],
)
def test_unknown_values(options: dict[str, str], text: str) -> None:
    with pytest.raises(WorkloadError, match=f"^{text}$"):
        compile(model(), CONFIG, **options)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="no.toml"):
        read_schedule(tmp_path / "no.toml")


def values(program: EinsumProgram) -> dict[str, np.ndarray]:
    noise = np.random.default_rng(0)
    return {name: noise.integers(-8, 9, SHAPES[name]) / 8 for name in program.inputs}


Made = Callable[[SamModel], Program]


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(associate=("A*(X*W)",)),
        Schedule(associate=("A*(X*W)",), formats={"t": "dd:1,0"}),
        Schedule(formats={"A": "dd", "X": "sd:1,0", "y": "ss:1,0", "h": "ss"}),
    ],
)
def test_what_schedules_change_means_the_same(schedule: Schedule) -> None:
    own = model()
    tensors = values(own.program)
    program = compile(own, CONFIG, schedule=schedule)
    np.testing.assert_array_equal(run(program, tensors).got["y"], golden(own.program, tensors)["y"])


def test_without_fusion_each_statement_has_a_region() -> None:
    program = parse_program("t(i)=A(i)+b; u(i)=t(i)*t(i); y(i)=u(i)-b")
    assert [each.statements for each in regions_of(program, "none")] == [("t",), ("u",), ("y",)]
    assert [each.statements for each in regions_of(program, "layer")] == [("t", "u", "y")]


def test_names_are_written_as_users_have_them(tmp_path: Path) -> None:
    own = replace(model(), name="größe")
    compile(own, CONFIG, schedule_out=tmp_path / "s.toml")
    assert (tmp_path / "s.toml").read_text(encoding="utf-8").startswith('model = "größe"\n')


def test_a_region_of_parts_that_share_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    text = "a(i)=relu(A(i)); b(i)=relu(B(i)); c(i)=A(i)*C(i); d(i)=a(i)+b(i)"
    own = model_of(parse_program(text), dict.fromkeys("ABC", Tensor.from_any(np.ones(3))))
    path.write_text('[[region]]\nstatements = ["a", "c", "b"]\n[[region]]\nstatements = ["d"]\n')
    with pytest.raises(WorkloadError) as caught:
        compile(own, CONFIG, schedule=path)
    assert str(caught.value) == (
        f"{path}: region 1: b shares no tensor with a, nor with what does: must be in a region of "
        "its own"
    )
    path.write_text('[[region]]\nstatements = ["a", "c", "b", "d"]\n')
    assert len(compile(own, CONFIG, schedule=path).launches) == 1
