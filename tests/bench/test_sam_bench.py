"""SAM's benchmark: its parts on small operands, and what it makes of the figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from bench.lib.records import Record, Setting, load, records, rows
from bench.lib.summary import geometric_mean
from bench.sam import main
from bench.sam_parts import levels, page, suite, table
from bench.sam_parts.cases import DENSITIES, SIZES, cases
from bench.sam_parts.kernels import HALF_FULL, KERNELS
from bench.sam_parts.measure import METRICS
from gnarl.hw.sam.block_types import BLOCK_TYPES
from gnarl.sw.compiler.sam.suite import SUITE
from gnarl.sw.workloads.tensor.fibertree_files import save_fibertree
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.storage import store
from gnarl.sw.workloads.tensor.tensor import Tensor
from tests.support.machines.yowasp import needs_yosys

Run = Callable[..., Result]

SIZE = 12


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in an empty folder, on small operands in the place of the real ones."""
    random = np.random.default_rng(0)
    for kernel in KERNELS:
        statement = parse(SUITE[kernel.variant])
        for access in statement.operands:
            if access.indices:
                shape = (SIZE,) * len(access.indices)
                array = np.where(random.random(shape) < 0.3, random.integers(1, 9, shape), 0)
                array[(0,) * len(shape)] = 1
                storage = store(Tensor.from_any(array), statement.formats[access.tensor])
                folder = tmp_path / "workloads" / "sam" / "bcsstm02" / kernel.name
                save_fibertree(folder, access.tensor, storage)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GNARL_WORKLOADS", "workloads")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments)

    return run


def results(part: str) -> list[Record]:
    return load(Path("build/bench") / f"sam_{part}.json")


def test_table(bench: Run):
    done = bench("table", "--quick", "--backend", "model", "-o", "build/bench")
    assert done.exit_code == 0, done.output
    found = results("table")
    variants = {record.labels["variant"] for record in found if "variant" in record.labels}
    assert variants == {"as there", "half-full vectors"}
    values = {record.name: record.value for record in found}
    cycles = values["sam.table/mat_elemadd/bcsstm02/as there/model/cycles"]
    assert values["sam.table/mat_elemadd/bcsstm02/as there/model/ratio"] == cycles / 207
    ratios = [value for name, value in values.items() if name.endswith("/as there/model/ratio")]
    assert len(ratios) == len(KERNELS) - 1  # the largest is left out
    assert values["sam.table.summary/all/model/mean_ratio"] == pytest.approx(geometric_mean(ratios))
    assert all(value for name, value in values.items() if name.endswith("bit_exact"))
    assert Path("build/bench/sam_table.png").read_bytes().startswith(b"\x89PNG")

    Path("README.md").write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    assert bench("page").exit_code == 0
    text = Path("docs/results/sam.md").read_text()
    assert "\n| mat_elemadd | bcsstm02 | as there | 207 | " in text
    assert page.INTROS["table"].text in text
    for cells in table.tables(found).values():
        assert cells.to_markdown() in text


def test_a_table_of_runs_without_reference_has_no_mean():
    labels = {"kernel": "vec", "matrix": "m", "variant": HALF_FULL, "backend": "model"}
    values = {"cycles": 7, "distance": 1.5, "bit_exact": True}
    setting = Setting("sam_fp32", (), "", 0)
    found = records(table.BENCH, labels, values, METRICS, setting)
    assert table.summarise(rows(found)) == {}
    [cells] = table.tables(found).values()
    assert [row[0] for row in cells.body] == ["vec"]
    assert table.verdict(found) == "bit-exact on model: 1 of 1 runs"


def test_suite(bench: Run):
    done = bench("suite", "--quick", "--backend", "model", "-o", "build/bench")
    assert done.exit_code == 0, done.output
    assert "integers equal to NumPy: 60 of 60 runs" in done.stdout
    labels = {record.labels["kernel"] for record in results("suite")}
    assert labels == set(suite._QUICK)


@needs_yosys
def test_levels(bench: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(levels, "_QUICK", ("repeat", "dense writer"))
    done = bench("levels", "--quick", "-o", "build/bench")
    assert done.exit_code == 0, done.output
    assert f"limit {levels.LIMIT} ✔" in done.stdout
    measured = results("levels")
    table = {block: row for (block,), row in levels.split(measured, levels.BENCH)[0].items()}
    assert 0 < table["repeat"]["levels"] <= table["repeat"]["levels_with_queues"] + 1
    (cells,) = levels.tables(measured).values()
    assert {len(row) for row in cells.body} == {len(cells.header)}
    assert Path("build/bench/sam_levels.png").read_bytes().startswith(b"\x89PNG")


def test_blocks_that_are_too_deep():
    rows = {"one": (9, 10), "two": (17, 25)}
    setting = Setting("", (), "", 0)
    found = [
        record
        for name, (deep, small) in rows.items()
        for record in records(
            levels.BENCH,
            {"block": name},
            {"levels": deep, "levels_small": small, "levels_with_queues": deep, "luts": 1},
            levels._METRICS,
            setting,
        )
    ]
    assert levels.verdict(found).splitlines() == [
        "most levels: 17, two, limit 16 ✘; 1 of 2 blocks have more",
        "most levels by the default script: 25, two, limit 16 ✘; 1 of 2 blocks have more",
    ]


def test_all_types_of_blocks_have_levels():
    """But the root, which has none."""
    assert {block.type for block in levels.CASES.values()} == {*BLOCK_TYPES} - {"root"}


def test_absent_operands_are_reported(bench: Run):
    done = bench("table", "--backend", "model", "--workloads", "nowhere")
    assert done.exit_code == 1
    assert "sam.table: nowhere/sam/bcsstm02 is absent: skipped" in done.stderr.splitlines()


@pytest.mark.parametrize("kernel", SUITE)
def test_every_kernel_has_a_result_by_numpy(kernel: str):
    found = cases(kernel, seed=1)
    assert len(found) == len(SIZES) * len(DENSITIES)
    access = parse(SUITE[kernel]).result
    for case in found:
        shape = tuple(SIZES[case.size][index] for index in access.indices)
        assert case.expected(case.inputs(integers=True)).shape == shape
