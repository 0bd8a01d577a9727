"""What is changed, target by target, and which tests are next to it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Group:
    """Sources of one kind: files and folders.

    without
        those among them that decide nothing: dumps, listings, lists of examples.
    whole
        tests of the whole, which follow those next to the source.
    plain
        compiled code stays Python's, which is quicker where few runs follow a compilation.
    """

    target: str
    kind: str
    sources: tuple[str, ...]
    without: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    plain: bool = False

    @property
    def name(self) -> str:
        return f"{self.kind} {self.target}"

    def files(self, root: Path) -> list[str]:
        found: set[str] = set()
        for source in self.sources:
            paths = [root / source] if source.endswith(".py") else (root / source).rglob("*.py")
            found |= {path.relative_to(root).as_posix() for path in paths}
        return sorted(name for name in found if not name.endswith(("__init__.py", *self.without)))


GROUPS = (
    Group(
        "dpu",
        "RTL",
        ("hw/dpu",),
        without=("listing.py",),
        whole=("tests/hw/dpu/test_top.py",),
    ),
    Group(
        "dpu",
        "compiler",
        ("sw/compiler/dpu",),
        without=("dumps.py", "jit.py"),
        plain=True,
    ),
    Group(
        "dpu",
        "models",
        ("sw/golden/dpu.py", "sw/golden/levels.py", "sw/golden/sums.py", "sw/runtime/dpu/model"),
        whole=("tests/sw/runtime/dpu/test_model.py", "tests/sw/runtime/dpu/test_model_errors.py"),
        plain=True,
    ),
    Group(
        "sam",
        "RTL",
        ("hw/sam",),
        whole=("tests/hw/sam/test_top.py", "tests/hw/sam/fabric/test_fabric.py"),
    ),
    Group(
        "sam",
        "compiler",
        ("sw/compiler/sam",),
        without=("dumps.py", "describe.py", "examples.py", "suite.py"),
        whole=(
            "tests/sw/compiler/sam/test_lower.py",
            "tests/sw/compiler/sam/test_dot.py",
            "tests/sw/compiler/sam/test_dot_refusals.py",
            "tests/acceptance/sam_bad_input/test_programs.py",
        ),
    ),
    Group(
        "sam",
        "models",
        (
            "sw/golden/einsum.py",
            "sw/golden/relations.py",
            "sw/golden/tensor.py",
            "sw/runtime/sam/model",
        ),
        whole=("tests/sw/runtime/sam/test_model.py", "tests/sw/runtime/sam/test_model_blocks.py"),
    ),
    Group(
        "sam",
        "fusion",
        ("sw/compiler/sam/fuse", "sw/compiler/sam/table", "sw/compiler/sam/depths.py"),
        whole=(
            "tests/sw/compiler/sam/fuse/test_worked_examples.py",
            "tests/sw/compiler/sam/fuse/test_random_programs.py",
            "tests/sw/compiler/sam/test_lower.py",
        ),
    ),
    Group(
        "sam",
        "programs",
        (
            "sw/workloads/einsum/check.py",
            "sw/workloads/einsum/coordinates.py",
            "sw/workloads/einsum/explicit.py",
            "sw/workloads/einsum/kernel.py",
            "sw/workloads/einsum/mlir",
            "sw/workloads/einsum/places.py",
            "sw/workloads/einsum/program.py",
            "sw/workloads/einsum/pure.py",
            "sw/workloads/einsum/rearranged_check.py",
            "sw/workloads/einsum/rearranged_sizes.py",
            "sw/workloads/einsum/rearrangement.py",
            "sw/workloads/einsum/shapes.py",
            "sw/workloads/einsum/stored_maxima.py",
            "sw/workloads/einsum/text.py",
        ),
        whole=(
            "tests/sw/workloads/einsum/mlir/test_read.py",
            "tests/sw/workloads/einsum/test_check.py",
            "tests/sw/workloads/einsum/test_patterns.py",
            "tests/sw/workloads/einsum/test_rearrangement.py",
            "tests/sw/workloads/einsum/mlir/test_write.py",
        ),
    ),
    Group(
        "sam",
        "readers",
        ("sw/workloads/einsum/pytorch",),
        whole=(
            "tests/sw/workloads/einsum/pytorch/test_masks.py",
            "tests/sw/workloads/einsum/pytorch/test_edges.py",
            "tests/sw/workloads/einsum/pytorch/test_models.py",
            "tests/sw/workloads/einsum/pytorch/test_operators.py",
            "tests/sw/workloads/einsum/pytorch/test_formats.py",
            "tests/sw/workloads/einsum/pytorch/test_constants.py",
            "tests/sw/workloads/einsum/pytorch/test_moving.py",
        ),
    ),
    Group(
        "cuda",
        "compiler",
        ("sw/compiler/cuda",),
        without=("dumps.py",),
        whole=(
            "tests/sw/compiler/cuda/templates/test_parameters.py",
            "tests/sw/compiler/cuda/test_compile.py",
            "tests/acceptance/test_cuda_bad_input.py",
        ),
    ),
    Group(
        "cuda",
        "models",
        ("sw/golden/embedding.py", "sw/golden/float32_sums.py", "sw/golden/tensor_bounds.py"),
    ),
    Group(
        "tmu",
        "RTL",
        ("hw/tmu",),
        without=("listing.py",),
        whole=("tests/hw/tmu/access/test_access_unit.py", "tests/sw/runtime/tmu/test_target.py"),
    ),
    Group(
        "tmu",
        "compiler",
        ("sw/compiler/tmu",),
        without=("listing.py",),
        whole=(
            "tests/sw/compiler/tmu/passes/test_filecheck.py",
            "tests/sw/compiler/tmu/test_compile.py",
            "tests/sw/compiler/tmu/test_merging.py",
        ),
    ),
    Group(
        "tmu",
        "models",
        (
            "sw/golden/loops.py",
            "sw/golden/loop_code.py",
            "sw/execute/values",
            "sw/runtime/tmu/model",
        ),
    ),
    Group(
        "sram_compute",
        "RTL",
        ("hw/sram_compute",),
        whole=(
            "tests/hw/sram_compute/test_top.py",
            "tests/hw/sram_compute/bank/test_bank.py",
            "tests/sw/runtime/sram_compute/test_errors_at_limits.py",
            "tests/sw/runtime/sram_compute/model/test_transposers.py",
            "tests/sw/runtime/sram_compute/model/test_wide_transfers.py",
            "tests/sw/runtime/sram_compute/model/test_copies.py",
            "tests/sw/runtime/sram_compute/model/test_used_machine.py",
            "tests/sw/runtime/sram_compute/nests/test_three_places.py",
            "tests/sw/runtime/sram_compute/model/test_integers.py",
            "tests/sw/runtime/sram_compute/nests/test_near_nests.py",
        ),
    ),
    Group(
        "sram_compute",
        "compiler",
        ("sw/compiler/sram_compute", "sw/execute/scalars"),
        without=("dumps.py",),
        whole=(
            "tests/sw/compiler/sram_compute/lower/test_lower.py",
            "tests/sw/runtime/sram_compute/nests/test_loop_nests.py",
            "tests/sw/runtime/sram_compute/nests/test_near_nests.py",
            "tests/sw/runtime/sram_compute/nests/test_three_places.py",
        ),
    ),
    Group(
        "sram_compute",
        "models",
        (
            "sw/execute/arithmetic.py",
            "sw/execute/fields.py",
            "sw/execute/timing",
            "sw/execute/trace.py",
            "sw/runtime/sram_compute/model",
        ),
        whole=(
            "tests/sw/runtime/sram_compute/test_target.py",
            "tests/sw/runtime/sram_compute/model/test_core_time.py",
            "tests/sw/runtime/sram_compute/model/test_wide_transfers.py",
            "tests/sw/runtime/sram_compute/test_errors_at_limits.py",
            "tests/sw/runtime/sram_compute/model/test_used_machine.py",
            "tests/sw/execute/values/test_arithmetic.py",
        ),
    ),
    Group(
        "nests",
        "compiler",
        ("sw/compiler/nests",),
        whole=(
            "tests/sw/compiler/tmu/passes/test_filecheck.py",
            "tests/sw/compiler/tmu/test_coupled.py",
            "tests/sw/compiler/tmu/passes/test_toggles.py",
            "tests/sw/runtime/sram_compute/nests/test_core_nests.py",
            "tests/sw/runtime/sram_compute/nests/test_near_nests.py",
        ),
    ),
    Group(
        "loops",
        "readers",
        ("sw/workloads/loops", "sw/workloads/pytorch", "sw/workloads/place.py"),
        whole=(
            "tests/sw/golden/test_loops.py",
            "tests/sw/golden/test_loop_operations.py",
            "tests/sw/compiler/tmu/test_compile.py",
        ),
    ),
    Group("lib", "RTL", ("hw/lib",)),
    Group(
        "lib",
        "models",
        ("sw/golden/arithmetic.py", "sw/golden/functions.py", "sw/golden/words.py"),
    ),
)


FAR = (
    "test_rtl_sample.py",
    "test_verilog.py",
    "test_back_door.py",
    "formal/test_stream_rules.py",
    "tmu/formal/test_merging.py",
    "sw/compiler/dpu/test_compile.py",
    "hardware.py",
)
"""Ends of the names of tests that are too slow to be run for each mutant."""


def imports(file: Path) -> set[str]:
    """Modules that a file imports, as paths; a package is ``package.py``. Those of the project's
    package are where they are, not where it has links to them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module:
            base = node.module.replace(".", "/")
            found |= {f"{base}.py", *(f"{base}/{alias.name}.py" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {f"{alias.name.replace('.', '/')}.py" for alias in node.names}
    return {name.removeprefix("gnarl/") for name in found}


class Neighbours:
    """Finds test files next to a source file: by name, or by imports."""

    def __init__(self, root: Path) -> None:
        self._root = root

        self._tests: dict[str, set[str]] = {}
        self._sources: dict[str, set[str]] = {}
        for folder in ("hw", "sw", "tests"):
            for path in sorted((root / folder).rglob("*.py")):
                self._sources[path.relative_to(root).as_posix()] = imports(path)
        for file in self._sources:
            if file.startswith(("tests/hw", "tests/sw")) and "/test_" in file:
                if not file.endswith(FAR):
                    self._tests[file] = self._used(file)

    def _used(self, test: str) -> set[str]:
        """What a test imports, itself or through other modules of tests."""
        found: set[str] = set()
        waiting = [test]
        while waiting:
            new = self._sources.get(waiting.pop(), set()) - found
            found |= new
            waiting += [file for file in new if file.startswith("tests/")]
        return found

    def of(self, source: str) -> list[str]:
        """Tests named after a file first; then those that import it, or else what imports it, ….

        Of its own folder's mirror in ``tests``, if there are any in it.
        """
        home = next(
            f"tests/{folder.as_posix()}/"
            for folder in Path(source).parents
            if (self._root / "tests" / folder).is_dir()
        )
        name = Path(source).stem
        named = [
            test
            for test in self._tests
            if test.startswith(home)
            and (Path(test).stem.startswith(f"test_{name}") or test.endswith(f"_{name}.py"))
        ]
        nearest: list[str] = []
        reached, seen = {source}, {source}
        while reached and not nearest:
            nearest = [test for test, used in self._tests.items() if used & reached]
            names = {name.replace("/__init__.py", ".py") for name in reached}
            reached = {
                file
                for file, used in self._sources.items()
                if used & names and not file.startswith("tests/")
            } - seen
            seen |= reached
        nearest = [test for test in nearest if test.startswith(home)] or nearest
        return [*named, *(test for test in nearest if test not in named)]


def chosen(
    near: Sequence[str], whole: Iterable[str], seconds: Mapping[str, float], budget_s: float
) -> list[str]:
    """The first that is near, as many of the others, quick ones first, as the budget allows, and
    then the tests of the whole."""
    found = list(near[:1])
    spent = sum(seconds[test] for test in found)
    for test in sorted(near[1:], key=lambda test: seconds[test]):
        if spent + seconds[test] <= budget_s:
            found.append(test)
            spent += seconds[test]
    return [*found, *(test for test in whole if test not in found)]
