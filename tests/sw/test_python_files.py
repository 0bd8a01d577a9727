"""Python files of workloads are executed at the user's word alone, on every target."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.program.python_files import python_allowed, split_name
from gnarl.sw.runtime.run.device import Device
from tests.support.commands import gnarl, refusal
from tests.support.errors import refused

MODEL = """from pathlib import Path
from gnarl.sw.workloads.embedding.model import EmbeddingModel, Feature
from gnarl.sw.workloads.loops.notation import *

n = sizes("n")
Path(__file__).with_name("canary").touch()
model = EmbeddingModel("shop", (Feature("user", 9, 4),))
other = EmbeddingModel("other", model.features)

def made():
    return EmbeddingModel("made", model.features)

def doubled(x: float32[n], out: float32[n]):
    for i in range(n):
        out[i] = x[i] * 2.0
"""
NEST = """from pathlib import Path
from gnarl.sw.workloads.loops.notation import *

Path(__file__).with_name("canary").touch()

@nest
def twice(x: float32[8], out: float32[8]):
    for i in range(8):
        out[i] = x[i] * 2.0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.py"
    path.write_text(MODEL)
    return path


def is_executed(path: Path) -> bool:
    canary = path.with_name("canary")
    found = canary.exists()
    canary.unlink(missing_ok=True)
    return found


@pytest.mark.parametrize(
    "command",
    [
        ("compile", "tmu_l2", "-o"),
        ("compile", "cuda_sm90", "-o"),
        ("run", "tmu_l2", "--backend", "model", "-o"),
        ("run", "cuda_sm90", "--backend", "emulation", "-o"),
        ("tune", "cuda_sm90", "--strategy", "cost-model", "-o"),
    ],
    ids="-".join,
)
def test_a_model_without_the_users_word(
    file: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    name, config, *options = command
    assert refusal(tmp_path, name, config, file, *options, tmp_path / "out.npz") == (
        f"gnarl: {file}: a model's Python file is executed: needs --allow-python, or a name, as "
        f"{file}:model"
    )
    assert not is_executed(file)


def test_models_are_compared_at_the_users_word(file: Path, tmp_path: Path) -> None:
    assert refusal(tmp_path, "compare", file, "tmu_l2", "tmu_l8", "--backend", "model") == (
        f"gnarl: tmu_l2: {file}: a model's Python file is executed: needs --allow-python, or a "
        f"name, as {file}:model"
    )
    assert not is_executed(file)


@pytest.mark.parametrize("config", ["tmu_l2", "cuda_sm90"])
@pytest.mark.parametrize(
    ("name", "options", "wanted"),
    [
        ("", ["--allow-python"], "shop"),
        (":model", [], "shop"),
        (":other", [], "other"),
        (":made", [], "made"),
    ],
)
def test_a_model_at_the_users_word(
    file: Path, tmp_path: Path, config: str, name: str, options: list[str], wanted: str
) -> None:
    out = tmp_path / "out.npz"
    result = gnarl("compile", config, f"{file}{name}", *options, "-o", out)
    assert (result.exit_code, result.stderr) == (0, "")
    assert is_executed(file)
    with Device(config, "model" if config == "tmu_l2" else "emulation") as device:
        assert device.compile(f"{file}{name or ':model'}").workload == wanted


def test_devices_ask_too(file: Path) -> None:
    for config in ("tmu_l2", "cuda_sm90"):
        with Device(config, "model" if config == "tmu_l2" else "emulation") as device:
            with pytest.raises(WorkloadError, match=r"shop\.py: a model's Python file is executed"):
                device.compile(file)
            assert not is_executed(file)
            with python_allowed():
                assert device.workload(file) is not None
            assert is_executed(file)
            with pytest.raises(WorkloadError):
                device.workload(file)
            assert not is_executed(file)


@pytest.mark.parametrize("config", ["tmu_l2", "sram_b2"])
@pytest.mark.parametrize("options", [[], ["--allow-python"]])
def test_nests_are_never_executed(tmp_path: Path, config: str, options: list[str]) -> None:
    path = tmp_path / "twice.py"
    path.write_text(NEST)
    for name in ("", ":twice"):
        result = gnarl("compile", config, f"{path}{name}", *options, "-o", tmp_path / "out.npz")
        assert result.exit_code == (2 if config == "tmu_l2" else 0), result.stderr
        if result.exit_code:
            assert result.stderr == "gnarl: x: missing: must be given\n"
        assert not is_executed(path)


def test_a_nest_in_a_models_file_is_read(file: Path) -> None:
    with Device("tmu_l2", "model") as device:
        assert device.workload(f"{file}:doubled").name == "doubled"
    assert not is_executed(file)


def test_a_nest_beside_something_called_model_is_read(tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    path.write_text(NEST + "model = 3\n")
    with Device("tmu_l2", "model") as device:
        assert device.workload(path).name == "twice"
    assert not is_executed(path)


def test_names_that_a_file_lacks(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    assert refusal(tmp_path, "compile", "tmu_l2", f"{file}:no", "-o", out) == (
        f"gnarl: {file}: has no function no"
    )
    with Device("cuda_sm90", "emulation") as device:
        with refused(f"{file}: defines no no: must define an EmbeddingModel of that name"):
            device.workload(f"{file}:no")


def test_names_behind_a_colon(file: Path, tmp_path: Path) -> None:
    odd = tmp_path / "a:b.py"
    odd.write_text("")
    assert split_name(file) == (str(file), "")
    assert split_name(f"{file}:made") == (str(file), "made")
    assert split_name(odd) == (str(odd), "")
    assert split_name("x" * 5000) == ("x" * 5000, "")
