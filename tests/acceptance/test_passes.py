"""``gnarl passes`` and what ``gnarl compile`` dumps of them, for every target."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.runtime.target.registry import TARGETS
from tests.support.commands import gnarl, refusal, state
from tests.support.cuda.embedding_files import write_model
from tests.support.sam.files import PRODUCT


class Case(NamedTuple):
    """A configuration, and the endings of the files that each pass leaves."""

    config: str
    files: dict[str, tuple[str, ...]]


TEXT, GRAPH, IR = ("txt",), ("dot", "txt"), ("mlir",)

CASES = {
    "dpu": Case(
        "dpu_d1_b8",
        {
            "simplify": GRAPH,
            "binarise": GRAPH,
            "schedule": TEXT,
            "memory": TEXT,
            "encode": TEXT,
        },
    ),
    "sam": Case(
        "sam_fabric_small",
        {
            "lower": ("dot", "einsum", "order.dot", "table", "txt"),
            "merge_equal": GRAPH,
            "remove_unused": GRAPH,
            "attach_coordinates": GRAPH,
            "mark_empty_fibers": GRAPH,
            "mark_skips": GRAPH,
            "block": (),  # not asked for
            "size_queues": (),  # of a model
            "parallelize": (),  # not asked for
            "verify": ("dot", "gv", "txt"),
            "configure": TEXT,
        },
    ),
    "tmu": Case(
        "tmu_l2",
        {
            "scf": IR,
            "select": IR,
            "hoist": IR,
            "decouple": IR,
            "vectorize": IR,
            "first_iterations": IR,
            "store_streams": IR,
            "bufferize": IR,
            "align_queues": IR,
            "keep_sums": IR,
            "fetch_rows": IR,
            "forward_stores": IR,
            "keep_rows": IR,
            "partial_sums": IR,
            "repeat_fibers": IR,
            "prefetch_rows": IR,
            "count_iterations": IR,
            "stream_places": IR,
            "delay_stores": IR,
            "split_masks": IR,
            "store_lanes": IR,
            "lower": IR,
        },
    ),
    "sram": Case(
        "sram_b2",
        {
            "plan": GRAPH,
            "optimise": GRAPH,
            "place": TEXT,
            "core": (),  # memory takes the nest
            "lower": TEXT,
            "assemble": TEXT,
        },
    ),
    "cuda": Case("cuda_sm90", {"group": TEXT, "schedule": TEXT, "fuse": ("cu",)}),
}

_STEPS = """void steps(const int a[192], int b[192]) {
    for (int step = 0; step < 32; step++)
        for (int i = 0; i < 192; i++)
            b[i] += a[i];
}
"""

TARGET = pytest.mark.parametrize("target", CASES)


def names(target: str) -> list[str]:
    """Names of the dump's files, in order."""
    return [
        f"{number:02}_{name}.{ending}"
        for number, (name, endings) in enumerate(CASES[target].files.items(), 1)
        for ending in endings
    ]


@pytest.fixture
def workload(target: str, tmp_path: Path, graph: Path) -> str:
    if target == "dpu":
        return str(graph)
    if target == "tmu":
        return "embedding_bag:tiny"
    if target == "sram":
        nest = tmp_path / "steps.c"
        nest.write_text(_STEPS)
        return str(nest)
    return PRODUCT if target == "sam" else str(write_model(tmp_path))


def test_every_target_has_a_case() -> None:
    assert list(CASES) == list(TARGETS)


@TARGET
def test_passes_are_listed_in_order(target: str) -> None:
    result = gnarl("passes", CASES[target].config)
    lines = [line for line in result.stdout.splitlines() if not line.startswith(" ")]
    assert result.exit_code == 0
    assert [line.split()[0] for line in lines] == ["pass", *CASES[target].files]
    assert all(len(line.split()) > 1 for line in lines)


@TARGET
def test_every_pass_is_dumped_and_the_program_is_the_same(
    target: str, workload: str, tmp_path: Path
) -> None:
    plain, dumped, dump = tmp_path / "plain.npz", tmp_path / "dumped.npz", tmp_path / "dump"
    arguments = ("compile", CASES[target].config, workload)
    assert gnarl(*arguments, "-o", plain).exit_code == 0
    assert gnarl(*arguments, "-o", dumped, "--dump", dump).exit_code == 0
    assert dumped.read_bytes() == plain.read_bytes()
    assert sorted(path.name for path in dump.iterdir()) == names(target)
    for path in dump.iterdir():
        text = path.read_text()
        assert text.strip(), path.name
        if path.suffix == ".dot":
            assert text.startswith("digraph {\n")
            assert text.endswith("}\n")


@TARGET
def test_dump_after_chooses_passes(target: str, workload: str, tmp_path: Path) -> None:
    first, *_, last = CASES[target].files
    dump = tmp_path / "dump"
    options = ("-o", tmp_path / "x.npz", "--dump", dump)
    chosen = ("--dump-after", first, "--dump-after", last)
    assert gnarl("compile", CASES[target].config, workload, *options, *chosen).exit_code == 0
    prefixes = ("01_", f"{len(CASES[target].files):02}_")
    expected = [name for name in names(target) if name.startswith(prefixes)]
    assert sorted(path.name for path in dump.iterdir()) == expected


@TARGET
@pytest.mark.parametrize("place", [0, 1, -1], ids=["first", "second", "last"])
def test_stop_after_ends_without_a_program(
    target: str, workload: str, tmp_path: Path, place: int
) -> None:
    name = list(CASES[target].files)[place]
    dump, before = tmp_path / "dump", set(state(tmp_path))
    options = ("-o", tmp_path / "x.npz", "--dump", dump, "--stop-after", name)
    result = gnarl("compile", CASES[target].config, workload, *options)
    assert (result.exit_code, result.stdout) == (0, "")
    ends = [at for at, file in enumerate(names(target), 1) if f"_{name}." in file][-1]
    assert {Path(path).name for path in set(state(tmp_path)) - before} == {
        "dump",
        *names(target)[:ends],
    }


@TARGET
def test_passes_are_timed_and_the_program_is_the_same(
    target: str, workload: str, tmp_path: Path
) -> None:
    plain, timed, dump = tmp_path / "plain.npz", tmp_path / "timed.npz", tmp_path / "dump"
    arguments = ("compile", CASES[target].config, workload)
    assert gnarl(*arguments, "-o", plain).exit_code == 0
    result = gnarl(*arguments, "-o", timed, "--time-passes", "--dump", dump)
    assert result.exit_code == 0
    assert timed.read_bytes() == plain.read_bytes()
    header, *rows, total = (line.split() for line in result.stdout.splitlines())
    assert header == ["pass", "seconds", "share", "runs"]
    ran = [name for name, files in CASES[target].files.items() if files or name == "core"]
    assert [row[0] for row in rows] == ran
    seconds, shares = ([float(row[at].rstrip("%")) for row in rows] for at in (1, 2))
    assert total[0] == "total"
    assert float(total[1]) == pytest.approx(sum(seconds), abs=1e-3)
    assert sum(shares) == pytest.approx(100, abs=0.1 * len(rows))
    assert all(int(row[3]) >= 1 for row in rows)


@TARGET
def test_only_what_ran_is_timed(target: str, workload: str, tmp_path: Path) -> None:
    name = next(iter(CASES[target].files))
    options = ("--time-passes", "--stop-after", name)
    result = gnarl("compile", CASES[target].config, workload, *options)
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["pass", name, "total"]


def test_lanes_are_dumped(tmp_path: Path) -> None:
    text = f"{PRODUCT.partition(' -s=')[0]} -s=reorder(i,k,j) -s=parallelize(i,2)"
    dump = tmp_path / "dump"
    options = ("--dump", dump, "--dump-after", "parallelize", "--stop-after", "parallelize")
    assert gnarl("compile", "sam_fp32", text, *options).exit_code == 0
    assert sorted(path.name for path in dump.iterdir()) == [
        "09_parallelize.dot",
        "09_parallelize.txt",
    ]
    assert ": parallelize" in (dump / "09_parallelize.txt").read_text()


def did_not_run(name: str) -> str:
    return (
        f"gnarl: pass {name} did not run: the workload does not need it, or is what a later one "
        "left"
    )


def test_stop_after_a_pass_that_is_not_needed_ends_without_a_program(tmp_path: Path) -> None:
    program = tmp_path / "x.npz"  # sam_fp32 has no fabric to place the graph on
    result = gnarl("compile", "sam_fp32", PRODUCT, "-o", program, "--stop-after", "configure")
    assert (result.exit_code, result.stdout, state(tmp_path)) == (0, "", {})
    assert result.stderr.splitlines()[-1] == did_not_run("configure")


def test_stop_after_a_pass_that_the_dump_has_been_through(tmp_path: Path) -> None:
    options = ("--dump", tmp_path, "--dump-after", "decouple", "--stop-after", "decouple")
    assert gnarl("compile", "tmu_l2", "embedding_bag:tiny", *options).exit_code == 0
    (dump,) = tmp_path.iterdir()
    result = gnarl("compile", "tmu_l2", dump, "--stop-after", "select")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines()[-1] == did_not_run("select")


@TARGET
@pytest.mark.parametrize("option", ["--dump-after", "--stop-after"])
def test_unknown_passes_are_refused(
    target: str, workload: str, tmp_path: Path, option: str
) -> None:
    options = ("-o", tmp_path / "x.npz", "--dump", tmp_path / "dump", option, "frob")
    assert refusal(tmp_path, "compile", CASES[target].config, workload, *options) == (
        f"gnarl compile: {option} frob: must be one of {', '.join(CASES[target].files)}. "
        "See gnarl compile --help"
    )


def test_dump_after_needs_a_folder(tmp_path: Path, graph: Path) -> None:
    options = ("-o", tmp_path / "x.npz", "--dump-after", "encode")
    assert refusal(tmp_path, "compile", "dpu_d1_b8", graph, *options) == (
        "gnarl compile: --dump-after needs --dump FOLDER. See gnarl compile --help"
    )


@pytest.mark.parametrize(
    ("target", "checker", "name"),
    [
        ("dpu", "gnarl.sw.compiler.dpu.compile.check_dag", "simplify"),
        ("sam", "gnarl.sw.compiler.sam.compile.verify", "verify"),
        ("tmu", "gnarl.sw.compiler.tmu.step_passes.verify", "scf"),
        ("cuda", "gnarl.sw.compiler.cuda.schedule_file.check", "schedule"),
    ],
)
def test_a_checker_that_fails_names_the_pass(
    target: str,
    workload: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    checker: str,
    name: str,
) -> None:
    def wrong(*_: Any, **__: Any) -> None:
        raise GnarlError("node 3 is used before it is computed")

    module, _, function = checker.rpartition(".")
    monkeypatch.setattr(import_module(module), function, wrong)
    dump, program = tmp_path / "dump", tmp_path / "x.npz"
    config = CASES[target].config
    result = gnarl("compile", config, workload, "-o", program, "--dump", dump)
    assert result.exit_code == 2
    line = f"gnarl: pass {name}: node 3 is used before it is computed"
    assert result.stderr.splitlines()[-1] == line
    assert not program.exists()
