"""Recommendation models from configuration files and from Python files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gnarl.sw.workloads.embedding.model import TABLE_TYPES, EmbeddingModel, Feature, PoolingFactors
from gnarl.sw.workloads.embedding.recflex import load_model
from tests.support.errors import refused

ROOT = Path(__file__).parents[4]
WORKLOADS = Path(os.environ.get("GNARL_WORKLOADS", ROOT.parent / "shared" / "workloads"))

PYTHON = "from gnarl.sw.workloads.embedding.model import *\n"


def folder(path: Path, tables: str = "9,4\n", data: str = "one-hot,1,1.0\n") -> Path:
    path = path / "shop"
    path.mkdir()
    (path / "table_config.txt").write_text(tables)
    (path / "data_config.txt").write_text(data)
    return path


def python(path: Path, text: str) -> Path:
    path = path / "shop.py"
    path.write_text(text)
    return path


def test_a_folder_by_hand(tmp_path: Path) -> None:
    path = folder(
        tmp_path,
        "100,4\n200, 8\r\n\n300,16\n400,1\n500,2",
        "one-hot,1,0.5\n"
        "multi-hot,1,10,20.5,50,0.8\n"
        "multi-hot-static,2,7,1\n\n"
        "multi-hot-one-side,1,100,50,0",
    )
    assert load_model(path) == EmbeddingModel(
        "shop",
        (
            Feature("f0", 100, 4, factors=PoolingFactors(1, 0, None, 0.5)),
            Feature("f1", 200, 8, factors=PoolingFactors(10, 20.5, 50, 0.8)),
            Feature("f2", 300, 16, factors=PoolingFactors(7, 0, None, 1)),
            Feature("f3", 400, 1, factors=PoolingFactors(7, 0, None, 1)),
            Feature("f4", 500, 2, factors=PoolingFactors(100, 50, None, 0)),
        ),
    )


def test_a_folder_is_named_even_if_its_path_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder(tmp_path))
    assert load_model(".").name == "shop"


def test_a_standard_deviation_of_zero_is_a_fixed_pooling_factor(tmp_path: Path) -> None:
    path = folder(tmp_path, data="multi-hot,1,10,0,10,1.0")
    assert load_model(path).features[0].factors == PoolingFactors(10, 0, 10, 1)


@pytest.mark.parametrize(
    ("name", "features", "multi_hot"), [("A", 1000, 500), ("B", 1200, 200), ("C", 800, 800)]
)
def test_models_of_the_paper(name: str, features: int, multi_hot: int) -> None:
    path = WORKLOADS / "recflex" / name
    if not path.exists():
        pytest.skip(f"{path} is absent")
    model = load_model(path)
    assert len(model.features) == features
    assert sum(feature.factors.mean > 1 for feature in model.features) == multi_hot


@pytest.mark.parametrize(
    ("tables", "error"),
    [
        ("9,4,1", ":1: '9,4,1': must be rows,dim"),
        ("9,4\n9", ":2: '9': must be rows,dim"),
        ("# rows,dim,name\n9,4", ":1: '# rows,dim,name': must be rows,dim"),
        ("nine,4", ":1: 'nine' is not a whole number"),
        ("9,4\n\n1_0,4", ":3: '1_0' is not a whole number"),
        ("9,4.0", ":1: '4.0' is not a whole number"),
        ("9,", ":1: '' is not a whole number"),
        ("0,4", ":1: rows = 0: must be from 1 to 2147483647"),
        ("2147483648,4", ":1: rows = 2147483648: must be from 1 to 2147483647"),
        ("9,-4", ":1: dim = -4: must be from 1 to 4096"),
        ("9,4097", ":1: dim = 4097: must be from 1 to 4096"),
        ("\n", ": the file has no tables: must have a line rows,dim for each"),
    ],
)
def test_refused_tables(tmp_path: Path, tables: str, error: str) -> None:
    path = folder(tmp_path, tables=tables)
    with refused(f"{path / 'table_config.txt'}{error}"):
        load_model(path)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (
            "two-hot,1,1",
            "feature type 'two-hot': must be one of one-hot, multi-hot, multi-hot-static, "
            "multi-hot-one-side",
        ),
        ("one-hot,1", "2 fields: must be one-hot,COUNT,coverage"),
        ("one-hot,1,1,1", "4 fields: must be one-hot,COUNT,coverage"),
        ("multi-hot,1,9,1,1", "5 fields: must be multi-hot,COUNT,mean,std,maximum,coverage"),
        ("multi-hot-static,1,9", "3 fields: must be multi-hot-static,COUNT,mean,coverage"),
        ("multi-hot-one-side,1", "2 fields: must be multi-hot-one-side,COUNT,mean,std,coverage"),
        ("one-hot,0,1", "COUNT = 0: must be from 1 to 65536"),
        ("one-hot,65537,1", "COUNT = 65537: must be from 1 to 65536"),
        ("one-hot,1.5,1", "'1.5' is not a whole number"),
        ("one-hot,1,1_0", "'1_0' is not a number"),
        ("one-hot,1,all", "'all' is not a number"),
        ("one-hot,1,-0.1", "coverage = -0.1: must be a number from 0 to 1"),
        ("one-hot,1,1.1", "coverage = 1.1: must be a number from 0 to 1"),
        ("one-hot,1,nan", "nan: must be finite in float64"),
        ("multi-hot,1,inf,1,9,1", "inf: must be finite in float64"),
        ("multi-hot,1,-1,1,9,1", "mean = -1.0: must be a number from 0 to 1048576"),
        ("multi-hot,1,5,-1,9,1", "std = -1.0: must be a number from 0 to 1048576"),
        ("multi-hot,1,5,nan,9,1", "nan: must be finite in float64"),
        ("multi-hot,1,5,1,9.5,1", "'9.5' is not a whole number"),
        ("multi-hot,1,5,1,0,1", "maximum = 0: must be a whole number from 1 to 1048576"),
        (
            "multi-hot,1,10,0,9,1",
            "mean = 10.0: must be a whole number, at most maximum = 9, since std is 0",
        ),
        ("multi-hot-static,1,2.5,1", "mean = 2.5: must be a whole number, since std is 0"),
        (
            "multi-hot,1,100,1,9,1",
            "mean = 100.0: must be at most 30 standard deviations above maximum = 9",
        ),
    ],
)
def test_refused_features(tmp_path: Path, data: str, error: str) -> None:
    path = folder(tmp_path, data=f"\n{data}\n")
    with refused(f"{path / 'data_config.txt'}:2: {error}"):
        load_model(path)


@pytest.mark.parametrize(("data", "count"), [("", 0), ("one-hot,1,1\none-hot,2,1\n", 3)])
def test_as_many_features_as_tables(tmp_path: Path, data: str, count: int) -> None:
    path = folder(tmp_path, "9,4\n9,4\n", data)
    with refused(
        f"{path / 'data_config.txt'}: describes {count} features: must be 2, as "
        f"{path / 'table_config.txt'} has tables"
    ):
        load_model(path)


@pytest.mark.parametrize("name", ["table_config.txt", "data_config.txt"])
def test_both_files_must_be_there_and_text(tmp_path: Path, name: str) -> None:
    path = folder(tmp_path)
    (path / name).write_bytes(b"one\xff")
    with refused(f"{path / name}: byte 3 is not valid UTF-8"):
        load_model(path)
    (path / name).unlink()
    with refused(f"{path / name}: No such file or directory"):
        load_model(path)


def test_other_paths(tmp_path: Path) -> None:
    with refused(f"{tmp_path / 'none'}: No such file or directory"):
        load_model(tmp_path / "none")
    with refused(f"{tmp_path / 'none.py'}: No such file or directory"):
        load_model(tmp_path / "none.py")
    (tmp_path / "model.json").write_text("{}")
    with refused(
        f"{tmp_path / 'model.json'}: must be a folder with table_config.txt and data_config.txt, "
        "or a .py file that defines model"
    ):
        load_model(tmp_path / "model.json")


def test_a_python_file(tmp_path: Path) -> None:
    text = (
        "from dataclasses import dataclass\n"
        + PYTHON
        + "@dataclass\nclass Shop:\n    rows: int\n"
        + "model = EmbeddingModel('m', [Feature('a', Shop(9).rows, 4)])\n"
    )
    assert load_model(python(tmp_path, text)) == EmbeddingModel("m", (Feature("a", 9, 4),))


def test_what_a_python_file_prints_is_no_output_of_the_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model = "model = EmbeddingModel('m', [Feature('a', 9, 4)])\n"
    load_model(python(tmp_path, f"{PYTHON}{model}print('hello')\n"))
    assert capfd.readouterr() == ("", "hello\n")


def test_a_python_file_may_start_processes(tmp_path: Path) -> None:
    text = (
        "import os\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(3)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3\n"
    )
    model = "model = EmbeddingModel('m', [Feature('a', 9, 4)])\n"
    assert load_model(python(tmp_path, text + PYTHON + model)).name == "m"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a = (\n1\n", ":1: '(' was never closed"),
        ("a = 1\nb = 1 +\n", ":2: invalid syntax"),
        ("a = 1\nb = a[0]\n", ":2: TypeError: 'int' object is not subscriptable"),
        ("def f():\n    raise ValueError('no\\n\\tgood')\n\nf()\n", ":2: ValueError: no good"),
        ("import nowhere_at_all", ":1: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("x = 1\nexec('a b')", ":2: SyntaxError: invalid syntax (<string>, line 1)"),
        ("import sys\nsys.exit()", ":2: SystemExit"),
        ("import os\nos._exit(0)", ":2: SystemExit: 0"),
        ("class Error(BaseException): pass\nraise Error('x')", ":2: Error: x"),
        (
            "class Error(Exception):\n  def __str__(self):\n    raise self\nraise Error",
            ":4: Error",
        ),
        (
            "open('nowhere/at/all')",
            ":1: FileNotFoundError: [Errno 2] No such file or directory: 'nowhere/at/all'",
        ),
        (
            PYTHON + "\nmodel = EmbeddingModel('m',\n  (Feature('a', 0, 4),))",
            ":4: feature a: rows = 0: must be a whole number from 1 to 2147483647",
        ),
        ("models = 1", ": defines no model: must define an EmbeddingModel of that name"),
        ("model = 'shop'", ": model is str: must be an EmbeddingModel"),
    ],
)
def test_refused_python_files(tmp_path: Path, text: str, error: str) -> None:
    path = python(tmp_path, text)
    with refused(f"{path}{error}"):
        load_model(path)


def test_the_example_has_features_of_many_kinds() -> None:
    model = load_model(ROOT / "examples" / "embedding_model.py")
    assert 20 <= len(model.features) <= 40
    kinds = {feature.kind for feature in model.features}
    assert {kind.pooling for kind in kinds} == {"sum", "mean", "max"}
    assert {kind.table_type for kind in kinds} == {*TABLE_TYPES, "int8_rowwise"}
    assert {feature.index_type for feature in model.features} == {"int32", "int64"}
    assert {kind.weighted for kind in kinds} == {True, False}
