"""Programs and results in a line, and as tables of notebooks."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
import scipy.sparse

from gnarl.sw.program.display import html_table, tensors_text
from gnarl.sw.program.tensor_spec import TensorSpec
from gnarl.sw.runtime.run.device import Device

PRODUCT = "X(i,j)=B(i,j)*C(i,j) -f=B:ss -f=C:ss -f=X:ss"


def rows(html: str) -> dict[str, str]:
    """The rows of a table; it is well-formed."""
    found = [[cell.text or "" for cell in row] for row in fromstring(html).iter("tr")]
    return {name: text for name, text in found}


def test_a_sparse_product() -> None:
    inputs = {"B": scipy.sparse.eye_array(3).tocsr(), "C": np.full((3, 3), 2.0)}
    with Device("sam_fp32", backend="model") as device:
        program = device.compile((PRODUCT, inputs))
        result = device.run(program, inputs)
    tensors = "B float32 [i, j], C float32 [i, j]"
    assert repr(program) == (
        f"<Program 'X(i,j)=B(i,j)*C(i,j)' for sam: from {tensors} to X float32 [i, j]>"
    )
    assert repr(result) == (
        f"<Result of 'X(i,j)=B(i,j)*C(i,j)' on sam, {result.cycles} cycles: X float32 [i, j]>"
    )
    table = rows(program._repr_html_())
    assert (table["target"], table["inputs"], table["launches"]) == ("sam", tensors, "1")
    table = rows(result._repr_html_())
    assert table["X"] == "float32 [3, 3], 3 entries: 2, 2, 2"
    assert table["cycles"] == str(result.cycles)
    counts = [int(text.replace(",", "")) for name, text in table.items() if " " in name]
    assert len(counts) <= 12
    assert counts == sorted(counts, reverse=True)
    assert min(counts) > 0


def test_a_circuit_with_a_name_of_html(tmp_path: Path) -> None:
    path = tmp_path / "a<b>&c.edgelist"
    path.write_text("a s {'op': 'add'}\nb s\na {'value': 1.5}\nb {'value': 2}\n")
    with Device("dpu_d1_b8", backend="model") as device:
        workload = device.workload(path)
        program = device.compile_workload(workload)
        result = device.run(program, workload.inputs)
    assert repr(result) == (
        f"<Result of 'a<b>&c' on dpu, {result.cycles} cycles: outputs float32 [1]>"
    )
    assert rows(result._repr_html_())["outputs"] == "float32 [1]: 3.5"
    assert fromstring(program._repr_html_()).findtext("caption") == "program a<b>&c"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "none"),
        (2, "t0 int8 [], t1 int8 []"),
        (6, "t0 int8 [], t1 int8 [], t2 int8 [], t3 int8 [], and 2 more"),
    ],
)
def test_many_tensors(count: int, text: str) -> None:
    assert tensors_text([TensorSpec(f"t{at}", (), "int8") for at in range(count)]) == text


def test_tables_escape_what_they_show() -> None:
    assert rows(html_table("<x>", [("<b>", "a & b")])) == {"<b>": "a & b"}
