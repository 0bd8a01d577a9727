"""Code planted in each kind of input that is data: none of it runs. ``docs/inputs.md`` lists them.

Code in files of PyTorch: ``test_pytorch_files.py``. Models in Python: ``test_python_files.py``.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.compiler.sam.dot_read import read_dot
from gnarl.sw.compiler.sram_compute.command_program import read as read_commands
from gnarl.sw.compiler.tmu.text import from_text
from gnarl.sw.runtime.area.activity import read_activity
from gnarl.sw.runtime.area.liberty_text import read_liberty
from gnarl.sw.runtime.area.macros import load_macros
from gnarl.sw.runtime.run.device import Device
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.runtime.target.reader import RunArguments
from gnarl.sw.workloads.dag.load import load
from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.python import source as python_source
from gnarl.sw.workloads.loops.sources import load_arrays
from gnarl.sw.workloads.tensor.parser import parse
from gnarl.sw.workloads.tensor.tensor_files import load_tensor
from tests.support.commands import gnarl, refusal


class Opens:
    """Its pickle opens a file, and so makes it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (str(self.path), "w")


def objects(canary: Path) -> np.ndarray:
    return np.array([Opens(canary)], dtype=object)


def write_npy(path: Path, canary: Path) -> None:
    np.save(path, objects(canary), allow_pickle=True)


def write_npz(path: Path, canary: Path) -> None:
    names = ("row", "col", "data", "shape", "format", "indices", "indptr", "__manifest__")
    np.savez(path, **dict.fromkeys(names, objects(canary)), allow_pickle=True)


def write_pickled_member(path: Path, canary: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name in ("data.npy", "format.npy", "data.pkl", "a/data.pkl"):
            file.writestr(name, pickle.dumps(Opens(canary)))


def as_text(text: str) -> Callable[[Path, Path], None]:
    """Writes a text with ``CALL``, an expression of Python, and ``CANARY``, the file it makes."""

    def write(path: Path, canary: Path) -> None:
        call = f"__import__('pathlib').Path('{canary}').touch()"
        path.write_text(text.replace("CALL", call).replace("CANARY", str(canary)))

    return write


GML = 'graph [ directed 1 CALL "CALL" node [ id 1 op "input" value "CALL" ] ]\n'
XML = """<?xml version="1.0"?>
<!DOCTYPE graphml [<!ENTITY file SYSTEM "file://CANARY"><!ENTITY % dtd SYSTEM "file://CANARY">]>
<graphml><key id="o" for="node" attr.name="op" attr.type="string"/><graph edgedefault="directed">
<node id="&file;"><data key="o">&file;</data></node></graph></graphml>
"""
NEST = """CALL
import shutil, canary_module
exec("CALL")

@nest
def f(x: float32[8], y: float32[8]):
    for i in range(8):
        y[i] = x[i]

CALL
"""

INPUTS: dict[str, tuple[Callable[[Path], object], Callable[[Path, Path], None]]] = {
    "tensor.npy": (load_tensor, write_npy),
    "array.npy": (lambda path: load_arrays({"a": str(path)}), write_npy),
    "sparse.npz": (load_tensor, write_npz),
    "pickles.npz": (load_tensor, write_pickled_member),
    "a.mtx": (load_tensor, as_text("%%MatrixMarket matrix array real general\n1 1\nCALL\n")),
    "a.tns": (load_tensor, as_text("1 1 CALL\n")),
    "a.psdd": (load, as_text("psdd CALL\nL 0 0 CALL\n")),
    "d.mtx": (load, as_text("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 CALL\n")),
    "a.edgelist": (load, as_text("a s {'op': CALL}\n")),
    "key.edgelist": (load, as_text("a s {CALL: 1, **{CALL: 2}, 'op': [x for x in [CALL]]}\n")),
    "a.gml": (load, as_text(GML)),
    "a.graphml": (load, as_text(XML)),
    "type.graphml": (
        load,
        as_text(
            '<graphml><key id="CALL" for="node" attr.name="op" attr.type="eval"/><graph '
            'edgedefault="directed"><node id="a"><data key="CALL">CALL</data></node></graph>'
            "</graphml>"
        ),
    ),
    "a.json": (
        load,
        as_text(
            '{"directed": true, "nodes": [{"id": "a", "op": "const", "value": "CALL", "py/object":'
            ' "os.system", "__reduce__": "CALL"}], "links": []}'
        ),
    ),
    "a.gv": (
        lambda path: read_dot(path.read_text(), "g"),
        as_text('digraph "CALL" { a [x="CALL"] }'),
    ),
    "nest.py": (python_source.read_file, as_text(NEST)),
    "default.py": (python_source.read_file, as_text("def f(x: CALL = CALL):\n    CALL\n")),
    "mark.py": (python_source.read_file, as_text("@CALL\ndef f(x: float32[8]):\n    CALL\n")),
    "nest.c": (
        c_source.read_file,
        as_text(
            '#include <stdlib.h>\n#pragma GCC plugin CANARY\n#ident "CANARY"\n'
            "void f(float a[8]) { for (int i = 0; i < 8; i++) a[i] = 1; }\n"
        ),
    ),
    "constructor.c": (
        c_source.read_file,
        as_text('__attribute__((constructor)) void f(float a[8]) { system("touch CANARY"); }\n'),
    ),
    "a.mlir": (
        lambda path: from_text(path.read_text(), "m.mlir"),
        as_text(
            'builtin.module attributes {x = "CALL"} {\n'
            '  "os.system"() {command = "touch CANARY"} : () -> ()\n}\n'
            '{-# dialect_resources: { builtin: { blob: "file:CANARY" } } #-}\n'
        ),
    ),
    "a.toml": (load_configuration, as_text('target = "CALL"\n')),
    "field.toml": (load_configuration, as_text('target = "dpu"\ndepth = "CALL"\n')),
    "a.sram": (read_commands, as_text("input a CALL CALL line=CALL\nCALL\n")),
    "a.lib": (
        read_liberty,
        as_text('library(l) { include_file("CANARY"); cell(z) { f : "CALL"; } }'),
    ),
    "a.saif": (
        lambda path: read_activity(path, "top"),
        as_text("(SAIFILE\n(DURATION CALL)\n(INSTANCE CALL\n"),
    ),
    "macros.json": (load_macros, as_text('{"ram": "CALL"}')),
    "a.txt": (lambda path: parse(path.read_text()), as_text("x(i)=CALL*b(i) -f=x:CALL")),
}


@pytest.mark.parametrize("name", INPUTS)
def test_nothing_of_an_input_is_executed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, write = INPUTS[name]
    canary = tmp_path / "canary"
    (tmp_path / "canary_module.py").write_text(f"open({str(canary)!r}, 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    write(tmp_path / name, canary)
    try:
        read(tmp_path / name)
    except GnarlError:
        assert name not in ("nest.py", "nest.c")  # read, whatever stands around the nest
    assert not canary.exists()


def test_an_include_reads_files_of_its_folder_alone(tmp_path: Path) -> None:
    """A named pipe would never end, and what lies elsewhere is not looked at."""
    folder, out = tmp_path / "sources", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    path = folder / "f.c"
    (tmp_path / "other.h").write_text("#define N 8\n")
    os.mkfifo(folder / "pipe.h")
    (folder / "link.h").symlink_to(tmp_path / "other.h")
    (folder / "folder.h").mkdir()
    names = ("/etc/passwd", "../other.h", "./own.h", "pipe.h", "link.h", "folder.h", "", "..")
    for name in (*names, str(tmp_path / "other.h")):
        for text in (f'"{name}"', f"<{name}>"):
            for head in (f"#include {text}\n", f"#define H {text}\n#include H\n"):
                path.write_text(head + "void f(float a[N]) { a[0] = 1; }\n")
                message = refusal(out, "compile", "sram_b4", path, "-o", out / "o.npz")
                line = 1 + head.startswith("#define")
                assert message.startswith(f"gnarl: {path}:{line}:2: #include"), message
                assert len(message.strip().splitlines()) == 1
    (folder / "own.h").write_text("#define N 8\n")
    path.write_text('#include "own.h"\nvoid f(float a[N]) { a[0] = 1; }\n')
    assert [array.shape for array in c_source.read_file(path).arrays.values()] != []


def test_entities_of_xml_name_no_files(tmp_path: Path) -> None:
    secret = tmp_path / "canary"
    secret.write_text("input")
    as_text(XML)(tmp_path / "a.graphml", secret)
    message = refusal(
        tmp_path, "compile", "dpu_d1_b8", tmp_path / "a.graphml", "-o", tmp_path / "o"
    )
    assert message.startswith(f"gnarl: {tmp_path / 'a.graphml'}")


def test_the_source_in_a_cuda_program_is_not_what_runs(tmp_path: Path) -> None:
    model, program = tmp_path / "m", tmp_path / "p.npz"
    model.mkdir()
    (model / "table_config.txt").write_text("16,4\n")
    (model / "data_config.txt").write_text("one-hot,1,1.0\n")
    assert gnarl("compile", "cuda_sm90", model, "-o", program).exit_code == 0
    canary = tmp_path / "canary"
    line = f'\nstatic int x = __builtin_system("touch {canary}");\n'.encode()
    with zipfile.ZipFile(program) as file:
        members = {name: file.read(name) for name in file.namelist()}
    (name,) = (each for each in members if "source" in each)
    old = np.load(io.BytesIO(members[name]))
    new = io.BytesIO()
    np.save(new, np.concatenate([old, np.frombuffer(line, np.uint8)]))
    with zipfile.ZipFile(program, "w") as file:
        for each, octets in members.items():
            file.writestr(each, new.getvalue() if each == name else octets)
    assert f"gnarl: {program}" in refusal(
        tmp_path, "run", "cuda_sm90", program, "--backend", "emulation"
    )
    assert not canary.exists()


def test_values_are_data(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    (tmp_path / "g.json").write_text(
        json.dumps({"directed": True, "nodes": [{"id": "a", "op": "input"}], "links": []})
    )
    as_text('{"a": "CALL"}')(tmp_path / "v.json", canary)
    write_npz(tmp_path / "v.npz", canary)
    with Device("dpu_d1_b8", "model") as device:
        workload = device.workload(tmp_path / "g.json")
        program = device.compile(workload)
        for name in ("v.json", "v.npz"):
            with pytest.raises(GnarlError):
                device.target.reader.inputs(program, workload, RunArguments(tmp_path / name))
    assert not canary.exists()


def test_each_kind_of_input_is_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "inputs.md").read_text()
    for name in INPUTS:
        kind = {"gv": ".gv", "txt": "expressions", "gml": "GML", "json": ".json"}
        kind |= {"graphml": "GraphML", "edgelist": "edge lists"}
        ending = name.rpartition(".")[2]
        assert kind.get(ending, f".{ending}") in page, name
