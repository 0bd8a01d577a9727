"""SAM through the ``gnarl`` command: expressions, graphs, programs and every kind of operand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from click.testing import Result

from gnarl import Device
from tests.support.commands import gnarl, refusal, state
from tests.support.results import dense, load_dense
from tests.support.sam.files import (
    CONFIG,
    COPY,
    PRODUCT,
    VECTOR,
    VECTOR_C,
    B,
    C,
    write_fibertree,
    write_mtx,
)


def run(
    workload: str | Path, *arguments: str | Path, config: str | Path = CONFIG
) -> dict[str, Any]:
    """The JSON object of a run on the model that succeeds."""
    result = gnarl("run", config, workload, *arguments, "--backend", "model", "--json")
    return report_of(result)


def report_of(result: Result) -> dict[str, Any]:
    assert (result.exit_code, result.stdout.count("\n")) == (0, 1), result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert report["bit_exact"]
    return report


def computed(
    tensor: str, workload: str | Path, *arguments: str | Path, config: str | Path = CONFIG
) -> list[Any]:
    """What such a run writes of ``tensor``, as lists."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "result.npz"
        run(workload, *arguments, "-o", path, config=config)
        return load_dense(path, tensor).tolist()


@pytest.fixture
def operands(tmp_path: Path) -> list[str]:
    """The options that give ``B`` and ``C``."""
    b, c = write_mtx(tmp_path / "b.mtx", B), write_mtx(tmp_path / "c.mtx", C)
    return ["--tensor", f"B={b}", "--tensor", f"C={c}"]


def test_a_product_and_its_report(operands: list[str]) -> None:
    report = run(PRODUCT, *operands)
    product = B @ C
    assert report["outputs"] == {
        "X": {
            "shape": [3, 3],
            "type": "float32",
            "entries": 4,
            "values": {f"X[{i},{j}]": product[i, j] for i, j in np.argwhere(product).tolist()},
        }
    }
    assert (report["target"], report["config"], report["backend"]) == ("sam", CONFIG, "model")
    assert report["workload"] == "X(i,j)=B(i,k)*C(k,j)"
    assert report["cycles"] >= report["statistics"]["longest_stream"] > 0
    assert report["counters"]["tokens_lookup_B_i_out_crd"] == len(B) + 2
    assert "stalls_lookup_B_i" in report["counters"]
    assert report["counters"]["reads_lookup_B_i_crd"] == len(B)
    assert report["intensity"] == report["ops"] / report["bytes"]
    (launch,) = report["launches"].values()
    assert (launch["ops"], launch["bytes"]) == (report["ops"], report["bytes"])


def test_hardware_that_stops_and_why(tmp_path: Path) -> None:
    """The model is asked only then."""
    path = tmp_path / "b.npy"
    np.save(path, np.ones(40))
    text = "X(i,j)=b(i)*c(j) -f=X:ss -f=b:s -f=c:s"
    given = ("--tensor", f"b={path}", "--tensor", f"c={path}", "--set", "array_words=256")
    line = refusal(tmp_path, "run", CONFIG, text, *given, "--backend", "rtl")
    assert re.fullmatch(
        r"gnarl: X\(i,j\)=b\(i\)\*c\(j\): rtl stopped after \d+ cycles: error 1 \(FAULT\), "
        r"detail \d+; model block write_X_j \(fiberwrite\): writes 1,600 rows to crd: must be at "
        r"most 256, array_words",
        line,
    )


def test_the_page_names_streams_and_hides_charts_without_bars(operands: list[str]) -> None:
    result = gnarl("run", CONFIG, PRODUCT, *operands, "--backend", "model")
    assert result.exit_code == 0
    assert "bit-exact" in result.stdout
    assert "Tokens of streams, % of cycles" in result.stdout
    assert "stalled" not in result.stdout  # the model's blocks never wait


def test_an_empty_result(tmp_path: Path) -> None:
    path = tmp_path / "b.tns"
    path.write_text("# shape 3 4\n")
    assert run(COPY, "--tensor", f"B={path}")["outputs"] == {
        "X": {"shape": [3, 4], "type": "float32", "entries": 0, "values": {}}
    }
    page = gnarl("run", CONFIG, COPY, "--tensor", f"B={path}", "--backend", "model").stdout
    assert "Outputs\n  X [3, 4] float32, 0 entries\n" in page


def npz(path: Path) -> Path:
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(B))
    return path


def npy(path: Path) -> Path:
    np.save(path, B)
    return path


def tns(path: Path) -> Path:
    lines = [f"{i + 1} {j + 1} {B[i, j]}" for i, j in np.argwhere(B).tolist()]
    path.write_text("# shape 3 4\n" + "\n".join(lines[::-1]) + "\n")
    return path


@pytest.mark.parametrize("kind", ["mtx", "tns", "npz", "npy", "folder", "folder/tensor_B"])
def test_kinds_of_files(tmp_path: Path, kind: str) -> None:
    match kind:
        case "mtx":
            path = write_mtx(tmp_path / "b.mtx", B)
        case "tns" | "npz" | "npy":
            path = {"tns": tns, "npz": npz, "npy": npy}[kind](tmp_path / f"b.{kind}")
        case _:
            write_fibertree(tmp_path / "folder", "B")
            path = tmp_path / kind
    assert computed("X", COPY, "--tensor", f"B={path}") == B.tolist()


FORMATS = ["dd", "ss", "bb", "ds", "sd", "db", "bd", "sb", "bs"]


@pytest.mark.parametrize("levels", FORMATS)
def test_formats_of_inputs_and_results(tmp_path: Path, levels: str) -> None:
    b = write_mtx(tmp_path / "b.mtx", B)
    for text in (
        f"X(i,j)=2*B(i,j) -f=X:{levels} -f=B:ss",
        f"X(i,j)=2*B(i,j) -f=X:ss -f=B:{levels}",
        f"X(i,j)=2*B(j,i) -f=X:{levels} -f=B:{levels}:1,0",
    ):
        doubled = 2 * (B.T if "B(j,i)" in text else B)
        assert computed("X", text, "--tensor", f"B={b}") == doubled.tolist(), text


def test_orders_from_scalars_to_four(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    scalar, tensor = tmp_path / "s.tns", tmp_path / "t.npy"
    scalar.write_text("3\n")
    array = random.integers(0, 3, (2, 3, 2, 4)).astype(float)
    np.save(tensor, array)
    result = computed(
        "X",
        "X(i,j,k,l)=s*T(i,j,k,l)+0 -f=X:ssss -f=T:sbds",
        *("--tensor", f"s={scalar}", "--tensor", f"T={tensor}"),
    )
    assert result == (3 * array).tolist()
    total = run("x=T(i,j,k,l) -f=T:ssss", "--tensor", f"T={tensor}")
    assert total["outputs"] == {"x": array.sum()}
    assert run("x=3")["outputs"] == {"x": 3.0}


def test_a_tensor_of_the_results_name_gives_its_shape(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros(3))
    assert computed("x", "x(i)=2.5", "--tensor", f"x={path}") == [2.5, 2.5, 2.5]


def test_a_file_without_a_shape_takes_that_of_the_others(tmp_path: Path) -> None:
    b, c = write_mtx(tmp_path / "b.mtx", B), tmp_path / "c.tns"
    c.write_text("1 2\n3 4\n")  # as large as its largest coordinate: 3; B has four columns
    result = computed("x", VECTOR, "--tensor", f"B={b}", "--tensor", f"c={c}")
    assert result == (B @ VECTOR_C).tolist()


@pytest.mark.parametrize("suffix", ["gv", "dot"])
def test_a_graph_goes_out_as_dot_and_comes_back(
    tmp_path: Path, operands: list[str], suffix: str
) -> None:
    graph, again = tmp_path / f"product.{suffix}", tmp_path / f"again.{suffix}"
    assert gnarl("compile", CONFIG, PRODUCT, "--dot", graph).exit_code == 0
    assert gnarl("compile", CONFIG, graph, "--dot", again).exit_code == 0
    report, direct = run(graph, *operands), run(PRODUCT, *operands)
    assert report["workload"] == "product"
    for field in ("outputs", "cycles", "ops"):
        assert report[field] == direct[field]
    assert again.read_text() == graph.read_text()


def test_blocks_without_edges_are_left_out(tmp_path: Path, operands: list[str]) -> None:
    graph = tmp_path / "product.gv"
    assert gnarl("compile", CONFIG, PRODUCT, "--dot", graph).exit_code == 0
    text = graph.read_text()
    stray = '99 [comment="type=crddrop,outer=i,inner=j" type="crddrop" outer="i" inner="j"]'
    graph.write_text(text.replace("\n", f"\n    {stray}\n", 1))
    assert computed("X", graph, *operands) == (B @ C).tolist()


def test_a_program_runs_with_other_tensors(tmp_path: Path, operands: list[str]) -> None:
    program, double = tmp_path / "product.npz", write_mtx(tmp_path / "double.mtx", 2 * B)
    assert gnarl("compile", CONFIG, PRODUCT, "-o", program).exit_code == 0
    assert computed("X", program, *operands) == (B @ C).tolist()
    others = ("--tensor", f"B={double}", *operands[2:])
    assert computed("X", program, *others) == (2 * B @ C).tolist()
    assert run(program, *others)["digest"] == run(PRODUCT, *operands)["digest"]


def test_programs_and_graphs_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    paths = [(tmp_path / f"{n}.npz", tmp_path / f"{n}.gv") for n in range(2)]
    for seed, (program, graph) in enumerate(paths):
        arguments = ("-o", program, "--dot", graph, "--seed", str(seed))
        assert gnarl("compile", CONFIG, PRODUCT, *arguments).exit_code == 0
    (one, drawn), (other, drawn_again) = paths
    assert one.read_bytes() == other.read_bytes()
    assert drawn.read_bytes() == drawn_again.read_bytes()


def test_disasm_lists_blocks_with_what_they_read(tmp_path: Path) -> None:
    program = tmp_path / "copy.npz"
    assert gnarl("compile", CONFIG, COPY, "-o", program).exit_code == 0
    lines = gnarl("disasm", program).stdout.splitlines()
    assert lines[0] == "root: root"
    assert "write_X_vals: valwrite tensor=X lane=0 val=vals_B.out_val" in lines


def test_a_configuration_that_names_its_expression(operands: list[str]) -> None:
    named = gnarl("run", "sam_matmul", *operands, "--backend", "model", "--json")
    assert report_of(named)["workload"] == "X(i,j)=B(i,k)*C(k,j)"
    assert computed("X", PRODUCT, *operands, config="sam_matmul") == (B @ C).tolist()
    assert run(PRODUCT, *operands, config="sam_matmul")["cycles"] == report_of(named)["cycles"]


def test_a_configuration_file_of_ones_own(tmp_path: Path, operands: list[str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'target = "sam"\nformat = "float16"\nexpression = "{PRODUCT}"\n')
    result = gnarl("run", path, *operands, "--backend", "model", "--json")
    report = report_of(result)
    assert report["config"] == "mine"
    assert computed("X", PRODUCT, *operands, config=path) == (B @ C).tolist()


OVERRIDES = [
    "format=fixed16.8",
    "format=bfloat16",
    "skip=false",
    "memory=shared",
    "memory=lines",
    "counters=false",
    "index_bits=16",
]


@pytest.mark.parametrize("override", OVERRIDES)
def test_overrides(operands: list[str], override: str) -> None:
    assert computed("X", PRODUCT, *operands, "--set", override) == (B @ C).tolist()
    report = run(PRODUCT, *operands, "--set", override)
    assert list(report["overrides"]) == [override.partition("=")[0]]


def test_what_is_not_counted_is_not_0(tmp_path: Path, operands: list[str]) -> None:
    override = ("--set", "counters=false")
    report, counting = run(PRODUCT, *operands, *override), run(PRODUCT, *operands)
    for name in ("ops", "ops_per_cycle", "bytes", "intensity", "utilisation"):
        assert report[name] is None
        assert counting[name] > 0
    assert report["cycles"] == counting["cycles"]
    assert report["counters"] == {
        name: counting["counters"][name]
        for name in ("write_X_i_fibers", "write_X_i_entries")
        + ("write_X_j_fibers", "write_X_j_entries", "write_X_vals_entries")
    }
    assert "longest_stream" not in report["statistics"]
    page = gnarl("run", CONFIG, PRODUCT, *operands, "--backend", "model", *override).stdout
    assert "operations: not counted" in page
    assert "counters = false: operations, tokens, stalls, and what memories moved are not" in page
    assert "0 operations" not in page
    # A picture is of a simulation then.
    run(PRODUCT, *operands, *override, "--timeline", tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_a_timeline_and_nothing_else_is_written(tmp_path: Path, operands: list[str]) -> None:
    before = set(state(tmp_path))
    run(PRODUCT, *operands, "--timeline", tmp_path / "x.png")
    assert set(state(tmp_path)) - before == {"x.png"}
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_verilog_of_an_expression(tmp_path: Path) -> None:
    settings = ("--set", "array_words=64", "-o", tmp_path / "out")
    result = gnarl("rtl", CONFIG, COPY, *settings)
    assert result.exit_code == 0, result.stderr
    verilog, fields = tmp_path / "out/sam_fp32.v", tmp_path / "out/sam_fp32.json"
    assert result.stdout == f"{verilog}\n{fields}\n"
    assert "module sam_fp32(" in verilog.read_text()
    found = json.loads(fields.read_text())
    assert (found["target"], found["fields"]["expression"]) == ("sam", COPY)


def test_from_python_with_arrays_and_sparse_matrices() -> None:
    with Device(CONFIG, backend="model") as device:
        program = device.compile(PRODUCT)
        for b, c in [(B, scipy.sparse.csc_array(C)), (B.tolist(), scipy.sparse.coo_array(C))]:
            inputs = {"B": b, "C": c}
            result = device.run(program, inputs)
            assert dense(result.outputs["X"]).tolist() == (B @ C).tolist()
            assert device.verify(result).bit_exact
        scalar = device.run(device.compile("x=b*b"), {"b": 1.5})
        assert scalar.scalars() == {"x": 2.25}
