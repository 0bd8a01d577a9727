"""Lines of text files end where editors end them, in every reader, and only blanks part words."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gnarl.hw.lib.encoding.execute_assembly import assemble
from gnarl.hw.lib.errors import GnarlError
from gnarl.hw.lib.text_lines import text_lines, words_of
from gnarl.sw.compiler.sam.dot_read import read_dot
from gnarl.sw.compiler.sram_compute.command_program import read as read_commands
from gnarl.sw.compiler.tmu.text import from_text, to_text
from gnarl.sw.runtime.area.activity import read_activity
from gnarl.sw.runtime.area.liberty_text import read_liberty
from gnarl.sw.runtime.target.configuration import load_configuration
from gnarl.sw.workloads.dag.load import load
from gnarl.sw.workloads.embedding.recflex import load_model
from gnarl.sw.workloads.loops.c import source as c_source
from gnarl.sw.workloads.loops.ir.printer import print_nest
from gnarl.sw.workloads.loops.python import source as python_source
from gnarl.sw.workloads.tensor.fibertree_files import load_fibertree
from gnarl.sw.workloads.tensor.tensor_files import load_tensor

SOURCES = Path(__file__).parents[2]
SPACES = [each for each in map(chr, range(1 << 16)) if each.isspace() and each not in " \t\n\r"]
OTHERS = [*SPACES, "\0", "\x1a", "\x7f", "\u200b", "\ufeff"]
"""What Python takes for spaces, some of it for ends of lines, too; and what editors do not show."""


def _dag(path: Path) -> object:
    found = load(path)
    return found.dag.names.tolist(), found.dag.operands.tolist(), found.inputs.tolist()


def _tensor(path: Path) -> object:
    return load_tensor(path).to_dense().tolist()


def _assembly(path: Path) -> object:
    return assemble(path.read_text()).words().tolist()


def _dot(path: Path) -> object:
    found = read_dot(path.read_text(), "g.gv")
    return found.text, found.graph


def _module(path: Path) -> object:
    return to_text(from_text(path.read_text(), "m.mlir"))


def _fibertree(path: Path) -> object:
    (path.parent / "tensor_B_mode_vals").write_text("1\n2\n")
    path.rename(path.parent / "tensor_B_mode_shape")
    return load_fibertree(path.parent, "B").to_dense().tolist()


def _tables(path: Path) -> object:
    (path.parent / "data_config.txt").write_text("one-hot,1,1.0\n")
    path.rename(path.parent / "table_config.txt")
    return load_model(path.parent).features


def _lengths(path: Path) -> object:
    (path.parent / "table_config.txt").write_text("8,4\n")
    path.rename(path.parent / "data_config.txt")
    return load_model(path.parent).features


_MTX = "%%MatrixMarket matrix coordinate real general\n%<3 3 2\n2 2 2\n1 1 7\n%<2 1 4\n2 2 1\n"
_C = "void f(int n, float a[n]) {{\n  for (int i = 0; i < n; i++)\n{}    a[i] = 1;\n}}\n"

READERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a.mtx": (_tensor, _MTX),
    "d.mtx": (_dag, _MTX),
    "a.tns": (_tensor, "# shape 2 2\n1 1 7\n#<2 1 4\n2 2 1\n"),
    "a.psdd": (_dag, "c<psdd 3\npsdd 1\nL 0 0 1\nc <T 1 0 1 -1\n"),
    "a.edgelist": (_dag, "# <b s\na s {'op': 'add'} # <c\nc s # <d s\n"),
    "a.edges": (_dag, "a s {'op': 'add'}\nb {'op': 'input'} # <c s\nb s\n"),
    "a.gml": (
        _dag,
        'graph [ # <node [ id 9 op "input" ]\n  directed 1\n node [ id 1 label "a" op "input" ]\n'
        ' node [ id 2 label "s" op "add" ]\n # <edge [ source 1 target 2 ]\n'
        " edge [ source 1 target 2 ]\n]\n",
    ),
    "a.gv": (
        _dot,
        'digraph g { // <}\n  comment="x=s0,b=s0"\n'
        '  l [type="fiberlookup" tensor="b" index="i" mode="0" format="compressed" root="true"]\n'
        '  v [type="arrayvals" tensor="b"] /* <q [type="add"] */\n#<  q [type="add"]\n'
        '  c [type="fiberwrite" tensor="x" index="i" mode="0" format="compressed"]\n'
        '  w [type="fiberwrite" tensor="x" mode="vals"]\n  l -> c [type="crd"] // <\n'
        '  l -> v [type="ref"]\n  v -> w [type="val"]\n}\n',
    ),
    "a.py": (
        lambda path: print_nest(python_source.read_file(path)),
        "def f(a: float32[n]):  # <x = 1\n    for i in range(n):\n"
        "        # <    a[i] = 2.0\n        a[i] = 1.0\n",
    ),
    "a.c": (
        lambda path: print_nest(c_source.read_file(path)),
        _C.format("// <a[i] = 2;\n/* <*/ // <*/\n#define N 8 // <\n#include <math.h> // <\n"),
    ),
    "a.mlir": (_module, "builtin.module {\n  // <func.func @f() {\n}\n"),
    "a.lib": (
        read_liberty,
        "library(l) { // <cell(x) { }\n  /* <cell(y) { } */\n  cell(z) { area : 1; } // <\n}\n",
    ),
    "a.toml": (
        lambda path: (load_configuration(path).config, len(load_configuration(path).note) > 4),
        '# Few<target = "sam"\ntarget = "dpu" # <depth = 3\ndepth = 1\nbanks = 8\n',
    ),
    "a.sram": (
        read_commands,
        "input a int8 64 line=32 # <input b int8 64 line=33\n# <start\nend\n",
    ),
    "a.s": (_assembly, "  halt ; <halt\n# <halt\n  jump end # <\nend: halt\n"),
    "a.saif": (
        lambda path: read_activity(path, "top").signals,
        '// by <(INSTANCE x\n(SAIFILE\n(SAIFVERSION "2.0")\n(DURATION 40)\n(INSTANCE TOP\n'
        "(INSTANCE top\n(NET\n// <)\n"
        "(valid (T0 10) (T1 30) (TZ 0) (TX 0) (TB 0) (TC 5))\n)\n)\n)\n)\n",
    ),
    "a.graphml": (
        _dag,
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><!-- < -->'
        '<key id="o" for="node" attr.name="op" attr.type="string"/><graph edgedefault="directed">\n'
        '<node id="a"><data key="o">input</data></node><!-- < -->\n</graph></graphml>\n',
    ),
}
"""How each format is read, and a file with ``<`` where its comments may have anything."""

_CONTROLS = "".join(each for each in OTHERS if each < " ")
REFUSED = {
    "a.toml": _CONTROLS + "\x7f",
    "a.graphml": _CONTROLS,
    **dict.fromkeys(("a.py", "a.edgelist", "a.edges"), "\0"),
}
"""What formats do not have in comments either."""


def outcome(name: str, folder: Path, text: str) -> Any:
    """What a reader makes of a text, or that it refuses it."""
    folder.mkdir()
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return READERS[name][0](folder / name)


def _marked(name: str, mark: str) -> str:
    text = READERS[name][1]
    if name == "a.graphml":
        return text.replace("!-- <", f"!-- {mark}")
    if name == "a.c":
        return text.replace("/ <", f"/ {mark}").replace("* <", f"* {mark}")
    return text.replace("<", mark)


@pytest.mark.parametrize("name", READERS)
def test_a_comment_goes_on_to_the_end_of_its_line(name: str, tmp_path: Path) -> None:
    wanted = outcome(name, tmp_path / "plain", _marked(name, " "))
    for at, other in enumerate(OTHERS):
        text = _marked(name, other)
        assert text != _marked(name, " ")
        if other in REFUSED.get(name, ""):
            with pytest.raises(
                GnarlError, match=r":\d+: .*not (TOML|well-formed XML|Python|a dict)"
            ):
                outcome(name, tmp_path / str(at), text)
        else:
            assert _equal(outcome(name, tmp_path / str(at), text), wanted), repr(other)


def _equal(one: Any, other: Any) -> bool:
    if hasattr(one, "lines") and hasattr(one, "name"):  # commands, whose name is their file's
        return (one.inputs, one.outputs) == (other.inputs, other.outputs) and [
            text for _, text in one.lines
        ] == [text for _, text in other.lines]
    return bool(one == other)


@pytest.mark.parametrize("name", READERS)
def test_lines_end_with_line_feeds_and_carriage_returns(name: str, tmp_path: Path) -> None:
    text = _marked(name, " ")
    wanted = outcome(name, tmp_path / "lf", text)
    for at, end in enumerate(("\r\n", "\r")):
        assert _equal(outcome(name, tmp_path / str(at), text.replace("\n", end)), wanted)


@pytest.mark.parametrize("name", READERS)
def test_lines_end_in_any_way(name: str, tmp_path: Path) -> None:
    """Each in another one; the last may have no end."""
    text = _marked(name, " ")
    wanted = outcome(name, tmp_path / "lf", text)
    chance = random.Random(name)
    lines = text.split("\n")
    for at in range(6):
        ends = [chance.choice(("\n", "\r\n", "\r")) for _ in lines]
        for place, line in enumerate(lines[1:]):
            if not line and ends[place] == "\r":  # it would be one with what is next
                ends[place] = "\r\n"
        ends[-1] = ""
        mixed = "".join(map("".join, zip(lines, ends, strict=True)))
        if at % 2:
            mixed = mixed.rstrip("\r\n")
        assert _equal(outcome(name, tmp_path / str(at), mixed), wanted), repr(mixed)


def _saif(given: str, marked: str) -> str:
    return READERS["a.saif"][1].replace("<", "").replace(given, marked)


WORDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a.mtx": (_tensor, "%%MatrixMarket matrix coordinate real general\n2 2 1\n1<1 7\n"),
    "size.mtx": (_tensor, "%%MatrixMarket matrix coordinate real general\n2<2 1\n1 1 7\n"),
    "head.mtx": (_tensor, "%%MatrixMarket matrix coordinate<real general\n2 2 1\n1 1 7\n"),
    "end.mtx": (_tensor, "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 7<\n"),
    "d.mtx": (_dag, "%%MatrixMarket matrix coordinate real general\n1 1 1\n1<1 7\n"),
    "a.tns": (_tensor, "1<1 7\n"),
    "end.tns": (_tensor, "1 1 7<\n"),
    "skipped.tns": (_tensor, "1 1 7\n<\n"),
    "a.psdd": (_dag, "psdd 1\nL 0<0 1\n"),
    "end.psdd": (_dag, "psdd 1\nL 0 0 1<\n"),
    "a.edgelist": (_dag, "a s<{'op': 'add'}\nb s\n"),
    "a.gml": (_dag, 'graph [ directed 1 node [ id 1<op "input" ] ]\n'),
    "a.gv": (_dot, READERS["a.gv"][1].replace("<", "").replace("w [", "w<[")),
    "a.sram": (read_commands, "input a int8<64 line=32\nend\n"),
    "command.sram": (read_commands, "input a int8 64 line=32\nfill<d=8\nend\n"),
    "a.s": (_assembly, "  jump<end\nend: halt\n"),
    "a.c": (
        READERS["a.c"][0],
        _C.format("").replace("i < n", "n > i").replace("int i", "int<i").replace("= 1", "=<1"),
    ),
    "a.py": (
        READERS["a.py"][0],
        "def f(a: float32[n]):\n    for i in<range(n):\n        a[i] = 1.0\n",
    ),
    "a.mlir": (_module, "builtin.module<{\n}\n"),
    "a.lib": (read_liberty, "library(l) {\n  cell(z) { area<: 1; }\n}\n"),
    "value.lib": (read_liberty, "library(l) {\n  <cell(z) { area : 1; }\n}\n"),
    "a.toml": (READERS["a.toml"][0], '# It\ntarget = "dpu"\ndepth =<1\nbanks = 8\n'),
    "net.saif": (READERS["a.saif"][0], _saif("(T0 10)", "(T0<10)")),
    "begin.saif": (READERS["a.saif"][0], _saif("(valid", "<(valid")),
    "end.saif": (READERS["a.saif"][0], _saif("(TC 5))", "(TC 5))<")),
    "shape": (_fibertree, "2<\n"),
    "tables": (_tables, "8,4<\n"),
    "lengths": (_lengths, "one-hot,1,<1.0\n"),
}
"""A file with ``<`` between or behind words."""

_BLANKS = {"a.c": "\v\f", "a.py": "\f", "a.mlir": "\v\f"}
"""What languages also have between words."""


@pytest.mark.parametrize("name", WORDS)
def test_only_spaces_and_tabs_stand_between_words(name: str, tmp_path: Path) -> None:
    read, text = WORDS[name]
    found = []
    for at, mark in enumerate((" ", "\t", *OTHERS)):
        folder = tmp_path / str(at)
        folder.mkdir()
        path = folder / name
        path.write_text(text.replace("<", mark), encoding="utf-8")
        try:
            found.append(read(path))
        except GnarlError as error:
            assert mark not in " \t", error
            found.append(None)
    assert _equal(found[0], found[1])
    taken = [(OTHERS[at], each) for at, each in enumerate(found[2:]) if each is not None]
    assert all(_equal(each, found[0]) for mark, each in taken if mark in _BLANKS.get(name, ""))
    same = [mark for mark, _ in taken if mark not in _BLANKS.get(name, "")]
    if name == "command.sram":  # a word of its own, which the compiler refuses
        assert all(each.lines[0] != found[0].lines[0] for each in found[2:])  # type: ignore[attr-defined]
    else:
        assert not same, same


def test_lines_and_words() -> None:
    assert text_lines("a\nb\r\nc\rd\n\ne\vf\n") == ["a", "b", "c", "d", "", "e\vf"]
    assert text_lines("") == []
    assert text_lines("\n") == [""]
    assert words_of(" a\t b\v \xa0c\u2028d ") == ["a", "b\v", "\xa0c\u2028d"]


def _splits(folder: str) -> Iterator[tuple[str, ast.AST, list[ast.AST]]]:
    """Names of methods that split texts, where they are taken, and what is around them."""
    for path in sorted((SOURCES / folder).rglob("*.py")):
        text = path.read_text()
        stack: list[tuple[ast.AST, list[ast.AST]]] = []
        if re.search(r"splitlines|split\(\)|split\b(?!\()", text):
            stack.append((ast.parse(text), []))
        while stack:
            node, around = stack.pop()
            if isinstance(node, ast.Attribute) and node.attr in ("split", "rsplit", "splitlines"):
                yield f"{path.relative_to(SOURCES)}:{node.lineno}: {node.attr}", node, around
            stack += [(each, [*around, node]) for each in ast.iter_child_nodes(node)]


@pytest.mark.parametrize("folder", ["hw", "sw"])
def test_sources_split_texts_with_the_one_function(folder: str) -> None:
    """One without an argument is for constants, and for messages: ``" ".join(text.split())``."""
    wrong = []
    for place, node, around in _splits(folder):
        assert isinstance(node, ast.Attribute)
        call = around[-1]
        if node.attr == "splitlines" or not isinstance(call, ast.Call) or call.func is not node:
            wrong.append(place)
        elif not call.args and not call.keywords:
            outer = around[-2]
            is_constant = isinstance(node.value, ast.Constant)
            is_message = isinstance(outer, ast.Call) and ast.unparse(outer.func) == "' '.join"
            if not is_constant and not is_message:
                wrong.append(place)
    assert wrong == []
