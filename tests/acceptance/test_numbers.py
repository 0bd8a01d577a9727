"""Numbers that files give, by reader: not finite, beyond the machine's format, and lost in it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse

from tests.support.commands import gnarl, refusal
from tests.support.dpu.dag_files import CONFIG as DPU
from tests.support.dpu.dag_files import HEADER, INPUT, graphml, node_link, xml_node
from tests.support.program_files import array_bytes
from tests.support.sam.files import CONFIG as SAM

NOT_FINITE = ("nan", "inf", "-inf", "1e400", str(10**400))

FLOAT32 = "float32 holds -3.4028234663852886e+38 to 3.4028234663852886e+38"

FINITE = "must be finite in float64"

Command = Callable[[Path], list[str]]
"""Arguments of ``gnarl run`` for a file."""


def dpu(path: Path) -> list[str]:
    return [DPU, str(path)]


def with_values(path: Path) -> list[str]:
    graph = path.with_name("graph.json")
    graph.write_text(node_link([INPUT, {"id": "y", "op": "neg"}], ("a", "y")))
    return [DPU, str(graph), "--values", str(path)]


def sam(path: Path) -> list[str]:
    return [SAM, "x(i)=b(i) -f=x:s -f=b:s", "--tensor", f"b={path}"]


def fibertree(path: Path) -> list[str]:
    for part, text in {"shape": "1\n", "0_seg": "0\n1\n", "0_crd": "0\n"}.items():
        path.with_name(f"tensor_b_mode_{part}").write_text(text)
    return sam(path.parent)


def short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


def read(text: str) -> str:
    """A number that Python has read already."""
    return str(float(text))


def whole(text: str) -> str:
    """As ``read``, but for whole numbers, which stay."""
    return short(text) if text.isdecimal() else read(text)


def in_json(text: str) -> str:
    return json.dumps(float(text))


JSON = {text: in_json(text) for text in ("nan", "inf", "-inf")}


def graph_of(op: str) -> Callable[[str], str]:
    """The text of a graph with a node ``a`` of a number."""
    text = node_link([{"id": "a", "op": op, "value": 7}, {"id": "y", "op": "neg"}], ("a", "y"))
    return lambda number: text.replace("7", number)


def saved(matrix: scipy.sparse.coo_array) -> bytes:
    octets = io.BytesIO()
    scipy.sparse.save_npz(octets, matrix)
    return octets.getvalue()


class Reader(NamedTuple):
    """A format: a file with a number in it, and what errors say of the number.

    place, name
        before it, where no format of a machine holds it, and where the machine's lacks it.
    shown
        the number itself.
    spelt
        numbers that this format has other texts for.
    """

    file: str
    content: Callable[[str], str | bytes]
    command: Command
    place: str
    name: str
    shown: Callable[[str], str] = short
    spelt: Mapping[str, str] = {}

    def write(self, folder: Path, number: str) -> tuple[Path, list[str]]:
        """The file, and arguments of a run on the model."""
        path, content = folder / self.file, self.content(self.spelt.get(number, number))
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path, ["run", *self.command(path), "--backend", "model"]


READERS = {
    "DPU .mtx": Reader(
        "x.mtx",
        lambda number: f"{HEADER}2 2 3\n1 1 1\n2 1 {number}\n2 2 1\n",
        dpu,
        ":4: ",
        "x: input L[2,1]",
    ),
    "node-link JSON": Reader(
        "x.json",
        graph_of("input"),
        dpu,
        ": node a: value = ",
        "x: input a",
        read,
        JSON,
    ),
    "constant of a graph": Reader(
        "x.json",
        graph_of("const"),
        dpu,
        ": node a: value = ",
        "{path}: node a: constant",
        read,
        JSON,
    ),
    "GraphML": Reader(
        "x.graphml",
        lambda number: graphml(
            xml_node("a", "input", number) + xml_node("y", "neg") + '<edge source="a" target="y"/>'
        ),
        dpu,
        ": node a: value = ",
        "x: input a",
        read,
    ),
    "GML": Reader(
        "x.gml",
        lambda number: (
            f'graph [ directed 1 node [ id 0 op "input" value {number} ] '
            'node [ id 1 op "neg" ] edge [ source 0 target 1 ] ]'
        ),
        dpu,
        ": node 0: value = ",
        "x: input 0",
        read,
        {"nan": "NAN", "inf": "+INF", "-inf": "-INF", **{f"1e{n}": f"1.0e{n}" for n in (400, 39)}}
        | {"1e-320": "1.0e-320"},
    ),
    "edge list": Reader(
        "x.edges",
        lambda number: f"a y {{'op': 'neg'}}\na {{'op': 'input', 'value': {number}}}\n",
        dpu,
        ":2: node a: value = ",
        "x: input a",
        lambda number: repr(number) if number in ("nan", "inf", "-inf") else whole(number),
        {text: repr(text) for text in ("nan", "inf", "-inf")},
    ),
    "--values JSON": Reader(
        "x.json",
        lambda number: f'{{"a": {number}}}',
        with_values,
        ": a = ",
        "graph: input a",
        in_json,
        JSON,
    ),
    "SAM .mtx": Reader(
        "x.mtx", lambda number: f"{HEADER}1 1 1\n1 1 {number}\n", sam, ":3: ", "b[0]"
    ),
    ".tns": Reader("x.tns", lambda number: f"1 {number}\n", sam, ":1: ", "b[0]"),
    "fibertree": Reader("tensor_b_mode_vals", lambda number: number, fibertree, ":1: ", "b[0]"),
    ".npy": Reader(
        "x.npy",
        lambda number: array_bytes(np.array([float(number)])),
        sam,
        ": entry 0: the value at (0,) = ",
        "b[0]",
        read,
    ),
    ".npz": Reader(
        "x.npz",
        lambda number: saved(scipy.sparse.coo_array([float(number)])),
        sam,
        ": entry 0: the value at (0,) = ",
        "b[0]",
        read,
    ),
}


@pytest.mark.parametrize("number", NOT_FINITE, ids=short)
@pytest.mark.parametrize("name", READERS)
def test_what_is_not_finite_is_refused(tmp_path: Path, name: str, number: str) -> None:
    reader = READERS[name]
    path, arguments = reader.write(tmp_path, number)
    line = refusal(tmp_path, *arguments)
    assert line == f"gnarl: {path}{reader.place}{reader.shown(number)}: {FINITE}"


@pytest.mark.parametrize("name", READERS)
def test_what_the_format_lacks_is_refused(tmp_path: Path, name: str) -> None:
    reader = READERS[name]
    path, arguments = reader.write(tmp_path, "1e39")
    called = reader.name.replace("{path}", str(path))
    assert refusal(tmp_path, *arguments) == f"gnarl: {called} = 1e+39: {FLOAT32}"


@pytest.mark.parametrize("name", READERS)
def test_what_becomes_zero_is_said(tmp_path: Path, name: str) -> None:
    reader = READERS[name]
    _, arguments = reader.write(tmp_path, "1e-320")
    result = gnarl(*arguments)
    assert result.exit_code == 0, result.stderr
    called = "constant" if "constant" in name else reader.name.rpartition("input ")[2]
    assert f"! 1 input that is not 0 becomes 0: {called} = 1e-320, in float32" in " ".join(
        result.stdout.split()
    )
    report = json.loads(gnarl(*arguments, "--json").stdout)
    assert report["vanished"] == {"count": 1, "first": f"{called} = 1e-320", "format": "float32"}
