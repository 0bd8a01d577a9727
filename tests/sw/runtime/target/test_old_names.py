"""Targets of other packages that were written against names which are no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnarl.sw.program.paths import PACKAGE
from gnarl.sw.runtime.target.old_names import new_names
from tests.support.commands import gnarl
from tests.support.targets.installed import importable, install

GUIDE = "see A target in docs/development.md"

PARTS = "a Target is made of parts, none may be derived from it"

CASES = {
    "before_the_package": (
        "from hw.lib.errors import WorkloadError\n"
        "from hw.lib.memory_map import (\n    MemoryMap,\n)\n"
        "from sw.runtime.host_machine import HostJob\n"
        "from sw.runtime.host_target import HostTarget\n"
        "from sw.targets import TARGETS\n",
        "before_the_package.py: hw.lib.errors is now gnarl.hw.lib.errors, "
        "hw.lib.memory_map is now gnarl.hw.lib.machine.memory_map, "
        "sw.runtime.host_machine is now gnarl.sw.runtime.machine.host_machine, "
        "sw.runtime.host_target is now gnarl.sw.runtime.target.host_executor, "
        f"sw.targets is now gnarl.sw.runtime.target.registry: {GUIDE}",
    ),
    "names_of_a_module": (
        "import sw.runtime.timeline as timeline\n"
        "from sw.runtime.target import Example, Target, TargetOption\n",
        "names_of_a_module.py: sw.runtime.timeline is now gnarl.sw.runtime.report.timeline, "
        "sw.runtime.target is now gnarl.sw.runtime.target.contract, "
        "Example is in gnarl.sw.runtime.target.reader, "
        f"TargetOption is in gnarl.sw.runtime.target.option: {GUIDE}",
    ),
    "no_more": (
        "from sw.runtime.sections import Sections\n",
        f"no_more.py: sw.runtime.sections is no more: {GUIDE}",
    ),
    "one_class": (
        "from gnarl.sw.runtime.target.host_target import HostTarget\n",
        "one_class.py: gnarl.sw.runtime.target.host_target is now "
        f"gnarl.sw.runtime.target.host_executor: {GUIDE}",
    ),
    "modules_by_name": (
        "from sw import targets\nfrom sw.runtime.target import contract, host_target\n",
        "modules_by_name.py: sw.targets is now gnarl.sw.runtime.target.registry, "
        "sw.runtime.target.contract is now gnarl.sw.runtime.target.contract, "
        "sw.runtime.target.host_target is now "
        f"gnarl.sw.runtime.target.host_executor: {GUIDE}",
    ),
    "a_package": ("import sw\n", f"a_package.py: sw is now gnarl.sw: {GUIDE}"),
    "not_there": (
        "from gnarl import Devices\n",
        f"ImportError: cannot import name 'Devices' from 'gnarl' ({PACKAGE / '__init__.py'})",
    ),
    "options": (
        "from gnarl.sw.runtime.target.contract import Target, TargetOption\n",
        f"options.py: TargetOption is in gnarl.sw.runtime.target.option: {GUIDE}",
    ),
    "methods": (
        "from gnarl.sw.runtime.target.contract import Target\n"
        "class Mine(Target):\n"
        "    name = 'methods'\n"
        "    def workload(self, source, seed=0): ...\n"
        "    def compile(self, workload, config, **options): ...\n"
        "    def job(self, program, launch, tensors, **options): ...\n"
        "    def image(self, launch, operands): ...\n"
        "    def golden(self, program, tensors): ...\n"
        "    def build(self, config): ...\n"
        "    def figures(self, program, result): ...\n",
        f"Mine: {PARTS}: workload: of a gnarl.sw.runtime.target.reader.Reader; "
        "compile: of a gnarl.sw.runtime.target.compiler.Compiler; "
        "job, golden: of a gnarl.sw.runtime.target.executor.Executor; "
        "image: of a gnarl.sw.runtime.target.host_executor.HostExecutor; "
        "build: of a gnarl.sw.runtime.target.generator.Generator; "
        f"figures: of a gnarl.sw.runtime.target.presenter.Presenter: {GUIDE}",
    ),
    "type_arguments": (
        "from gnarl.sw.runtime.target.contract import Target\n"
        "class Mine(Target[object, object, object]): ...\n",
        f"{PARTS}: {GUIDE}",
    ),
    "bare_pass": (
        "from gnarl.sw.compiler.passes import Pass\nPASS = Pass('fold', 'folds constants')\n",
        "Pass.__init__() missing 1 required positional argument: 'texts': a Pass has texts and "
        "run: see A new pass in docs/development.md",
    ),
    "another_package": (
        "from gnarl.sw.program.program import Program\nimport absent_package\n",
        "ModuleNotFoundError: No module named 'absent_package'",
    ),
}
"""The source of a target, and what is said of it."""


@pytest.mark.parametrize("name", CASES)
def test_an_old_name_is_refused_with_the_new_one(name: str, tmp_path: Path) -> None:
    source, reason = CASES[name]
    (tmp_path / f"{name}.py").write_text(source)
    (tmp_path / "mine.toml").write_text(f'target = "{name}"\n')
    install(tmp_path, "old", {name: f"{name}:TARGET"})
    with importable(tmp_path):
        result = gnarl("run", tmp_path / "mine.toml", "x", "--backend", "model")
        line = f"gnarl: target {name}: {name}:TARGET cannot be loaded: {reason}"
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.splitlines() == [line, line]  # of the package, and of the command
        shown = gnarl("run", "--help")
        assert (shown.exit_code, shown.stderr) == (0, f"{line}\n")


def test_other_errors_are_as_they_are() -> None:
    for error in (ValueError("x"), TypeError("x"), ImportError("x"), ImportError("x", name="sw")):
        assert new_names(error) == ""
