"""The tool on modules of a few lines."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest
from click.testing import CliRunner

from tests.mutants import __main__ as mutants_command
from tests.mutants.__main__ import EQUIVALENT, TARGETS, equivalents, kept_tests, main, sample
from tests.mutants.__main__ import outcomes as run_mutants
from tests.mutants.report import Outcome, page, share, summary, survivors
from tests.mutants.sites import Mutant, keyed, mutants
from tests.mutants.targets import GROUPS, Neighbours, chosen
from tests.mutants.workspace import ROOT, BaselineError, Workspace

SOFTWARE = '''"""Text 1."""

from x import y


def least(a: int = 3, *b: int | None) -> int | None:
    """Text 2."""
    assert a > 0
    if a < y and b:
        raise ValueError(f"{a + 1}: must be {2 + 2}")
    for each, other in zip(b, b, strict=True):
        continue
    return a
'''
HARDWARE = """
class Part:
    def elaborate(self, platform):
        with m.If(self.go & on):
            m.d.comb += [one.eq(x), two.eq(Mux(~on, x, y))]
"""
TOY = b"""
LIMIT = 2
def least(a, b):
    while a < 0:
        a += 1
    return a if a < b else b
"""
TOY_TEST = """
from toy import LIMIT, least
assert LIMIT == 2
def test_least():
    assert least(-1, 2) == 0
    assert least(2, 1) == 1
"""


def changes(source: str) -> list[tuple[str, str, str]]:
    found = mutants("toy.py", source.encode())
    for each in found:
        compile(each.apply(source.encode()), "toy.py", "exec")
    return [(each.function, each.before, each.after) for each in found]


def test_conditions_constants_and_statements_are_changed_and_texts_and_types_are_not():
    whole = "a < y and b"
    assert set(changes(SOFTWARE)) == {
        ("least", "3", "2"),
        ("least", "3", "4"),
        ("least", "a < y", "(a <= y)"),
        *(("least", whole, after) for after in ("(a < y)", "b", "(a < y or b)", "True", "False")),
        ("least", 'raise ValueError(f"{a + 1}: must be {2 + 2}")', "pass"),
        ("least", "continue", "break"),
    }


def test_amaranth_has_operators_of_its_own():
    name, go, mux = "Part.elaborate", "self.go & on", "Mux(~on, x, y)"
    statement = f"m.d.comb += [one.eq(x), two.eq({mux})]"
    assert set(changes(HARDWARE)) == {
        *((name, go, after) for after in ("(self.go | on)", "self.go", "on")),
        *((name, go, after) for after in (f"({go}) == 0", f"(({go}) == 0) & 0")),
        *((name, "m.d.comb", after) for after in ("m.d.sync",)),
        *((name, before, "*()") for before in ("one.eq(x)", f"two.eq({mux})")),
        *((name, mux, after) for after in "xy"),
        (name, "~on", "on"),
        (name, statement, "pass"),
    }


def test_samples_depend_on_the_seed_alone():
    group = GROUPS[0]
    assert sample(group, None, 5, 1) == sample(group, None, 5, 1) != sample(group, None, 5, 2)
    only = sample(group, "hw/dpu/crossbar.py", 10_000, 1)
    assert {mutant.file for mutant in only} == {"hw/dpu/crossbar.py"}


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_groups_have_sources_and_tests(group):
    for source in group.sources:
        assert replace(group, sources=(source,)).files(ROOT), source
    missing = [test for test in group.whole if not (ROOT / test).is_file()]
    assert not missing


def test_all_modules_are_changed_or_left_out():
    """Of hardware and of what interprets and compiles: whatever a move makes of folders."""
    changed = {file for group in GROUPS for file in group.files(ROOT)}
    left_out = {ending for group in GROUPS for ending in group.without}
    folders = (
        "hw/lib",
        "hw/dpu",
        "hw/sam",
        "hw/tmu",
        "hw/sram_compute",
        "sw/compiler",
        "sw/execute",
    )
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.endswith(("__init__.py", "sw/compiler/passes.py", *left_out)):
                assert name in changed


@pytest.fixture(scope="module")
def neighbours():
    return Neighbours(ROOT)


def test_neighbours_see_imports_of_the_package(neighbours):
    """Each source is imported by another, or by a test."""
    used = set().union(*neighbours._sources.values())
    sources = [name for group in GROUPS for name in group.files(ROOT)]
    assert [name for name in sources if name not in used] == []


def test_neighbours_have_the_name_or_import_it(neighbours):
    near = neighbours.of("hw/sam/blocks/streams/parallelizer.py")
    assert near == [
        "tests/hw/sam/blocks/streams/test_crd_parallelizer.py",
        "tests/hw/sam/blocks/streams/test_parallelizer.py",
        "tests/hw/sam/blocks/streams/test_serializer.py",
        "tests/hw/sam/blocks/streams/test_val_serializer.py",
    ]
    assert neighbours.of("hw/sam/blocks/values/drained_fibers.py") == [
        "tests/hw/sam/blocks/values/test_sparse_accumulator.py"
    ]
    assert "tests/hw/tmu/access/test_merge.py" in neighbours.of("hw/tmu/access/merge/merger.py")


def test_quick_tests_fill_the_budget():
    seconds = {"named": 9.0, "slow": 8.0, "quick": 1.0, "whole": 70.0}
    assert chosen(["named", "slow", "quick"], ["whole"], seconds, 12.0) == [
        "named",
        "quick",
        "whole",
    ]


IDLE_AND_BUSY = b"""
import subprocess, sys, time
BUSY = "import time; list(iter(lambda: time.process_time() < 0.2, False))"
def test_idle():
    time.sleep(1.5)
def test_child():
    subprocess.run([sys.executable, "-c", BUSY], check=True)
"""


def test_seconds_are_of_the_processor():
    with Workspace() as workspace:
        workspace.write("test_idle.py", IDLE_AND_BUSY)
        workspace.write("test_no.py", b"def test_no():\n    assert False\n")
        seconds = workspace.seconds(["test_idle.py"], 0, False)
        assert seconds.keys() == {"test_idle.py"}
        assert 0.15 <= seconds["test_idle.py"] < 1.0  # the child's 0.2 s, in ticks of 10 ms
        with pytest.raises(BaselineError, match="^test_no.py::test_no: fails without a mutant$"):
            workspace.seconds(["test_no.py"], 0, False)


FOUND = {mutant.after: mutant for mutant in mutants("toy.py", TOY)}
ENDLESS = "import time\ndef test_it(): time.sleep(60)\n"


@pytest.mark.parametrize(
    ("after", "test", "limit_s", "verdict"),
    [
        ("(a >= b)" if "(a >= b)" in FOUND else "False", TOY_TEST, 15.0, "killed"),
        ("(a <= b)", TOY_TEST, 15.0, "survived"),
        ("3", TOY_TEST, 15.0, "broken"),
        ("3", ENDLESS, 3.0, "timeout"),
    ],
)
def test_verdicts(after, test, limit_s, verdict):
    with Workspace() as workspace:
        workspace.write("toy.py", TOY)
        workspace.write("test_toy.py", test.encode())
        found = workspace.verdict(FOUND[after], ["test_toy.py"], limit_s, 0, False)
        assert found == verdict
        assert (workspace.root / "toy.py").read_bytes() == TOY
    assert not workspace.root.exists()


def outcomes(*verdicts: str) -> list[Outcome]:
    return [
        Outcome(GROUPS[0], Mutant("a.py", "f", 3, "operator", "a | b", "(a & b)", 0, 5), verdict)
        for verdict in verdicts
    ]


def test_shares_are_of_those_that_change_behaviour():
    found = outcomes("killed", "timeout", "survived", "equivalent", "broken", "killed")
    assert share(found) == 0.75
    assert share(outcomes("equivalent")) == 1.0
    assert summary(found).body == [("RTL dpu", "3", "1", "1", "1", "75%")]
    assert survivors(found).body == [("a.py:3", "f", "a | b", "(a & b)")]


class Ran(list[Mutant]):
    """In place of a ``Workspace``: what was run, which all survived."""

    root = ROOT

    def seconds(self, tests: Sequence[str], *options: object) -> dict[str, float]:
        return dict.fromkeys(tests, 1.0)

    def verdict(self, mutant: Mutant, tests: Sequence[str], *options: object) -> str:
        self.append(mutant)
        self.tests = list(tests)
        return "survived"


def test_again_is_of_survivors_and_new_ones(neighbours, monkeypatch):
    monkeypatch.setattr(mutants_command, "Neighbours", lambda root: neighbours)
    group = next(group for group in GROUPS if group.name == "RTL lib")
    first, second, third, fourth = sample(group, "hw/lib/machine/memory_map.py", 4, 0)
    earlier = [
        Outcome(group, mutant, verdict).to_dict()
        for mutant, verdict in ((first, "killed"), (second, "survived"), (third, "timeout"))
    ]
    ran = Ran()
    found = run_mutants(group, [first, second, third, fourth], ran, 0, earlier)
    assert [each.verdict for each in found] == ["killed", "survived", "timeout", "survived"]
    assert ran == [second, fourth]


def test_the_same_mutants_run_the_same_tests(neighbours, monkeypatch):
    monkeypatch.setattr(mutants_command, "Neighbours", lambda root: neighbours)
    group = next(group for group in GROUPS if group.name == "RTL lib")
    first, second, third = sample(group, "hw/lib/machine/memory_map.py", 3, 0)
    tests = "tests/hw/lib/machine/test_memory_map.py", "tests/test_gone.py"
    earlier = [
        Outcome(group, first, "killed", tests).to_dict() | {"line": first.line + 1},
        Outcome(group, second, "equivalent").to_dict(),
        Outcome(group, second, "killed", tests).to_dict() | {"before": "not there any more"},
        Outcome(group, second, "killed", tests).to_dict() | {"file": "hw/gone.py"},
        Outcome(group, third, "killed", tests[1:]).to_dict(),
    ]
    kept = kept_tests(group, earlier)
    assert kept == {first: [tests[0]], third: []}
    ran = Ran()
    outcomes = list(run_mutants(group, list(kept), ran, 0, kept=kept))
    assert ran == [first, third]
    assert outcomes[0].tests == (tests[0],)
    assert tests[0] in outcomes[1].tests and len(outcomes[1].tests) > 1
    assert ran.tests == list(outcomes[1].tests)


def test_the_page_keeps_what_was_not_run():
    first = page("", outcomes("survived"), "--count 1 --seed 2")
    assert "## RTL dpu" in first and "| `a.py:3` | `f` | `a \\| b` | `(a & b)` |" in first
    assert "## RTL sam\n\n<!-- RTL_sam:begin -->\nNot run yet." in first
    assert "`python -m tests.mutants --target dpu --kind RTL --count 1 --seed 2`" in first
    assert page(first, [], "") == first


def test_constants_of_modules_and_classes_are_named():
    assert {name for name, _, _ in changes("A = 1\nclass B:\n    C: int = 2\n")} == {"A", "B.C"}


def test_a_key_tells_equal_changes_of_a_function_apart():
    found = keyed(mutants("toy.py", b"def f(x):\n    return x < 1 or x < 1\n"))
    assert [(*key[1:], mutant.start) for key, mutant in found.items() if key[3] == "2"] == [
        ("f", "1", "2", 0, 25),
        ("f", "1", "2", 1, 34),
    ]


def test_equivalent_mutants_are_there_and_have_reasons():
    assert equivalents()
    text = EQUIVALENT.read_text()
    assert text.count("\nreason = ") == text.count("\n[[mutant]]")


@pytest.mark.parametrize(
    "arguments, text",
    [
        (
            ["--target", "none"],
            f"'none' is not one of {', '.join(map(repr, TARGETS))}",
        ),
        (
            ["--file", "hw/none.py"],
            f"--file hw/none.py: must be a source of {', '.join(TARGETS)}",
        ),
        (
            ["--file", "hw/lib/machine/memory_map.py", "--again", "README.md"],
            "--again README.md: not what --json writes: ",
        ),
        (["--same", "README.md"], "--same README.md: not what --json writes: "),
    ],
)
def test_bad_arguments(arguments, text, monkeypatch):
    monkeypatch.chdir(ROOT)
    signals = signal.getsignal(signal.SIGTERM)
    done = CliRunner().invoke(main, arguments)
    signal.signal(signal.SIGTERM, signals)
    assert text in done.stderr


def run_command(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.mutants", *arguments],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_an_interrupt_leaves_nothing_behind(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = run_command("--file", "hw/lib/machine/memory_map.py", "--count", "3")
    while not any(tmp_path.glob("*/hw")):
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert not any(tmp_path.iterdir())
