"""Every end of a command is an exit status and, for all but results, one line on stderr."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gnarl.sw.runtime.run.device import Device
from tests.support.commands import default_interrupts, gnarl
from tests.support.forked import Forked, run
from tests.support.parameters import slow_but

CONFIG = "dpu_d1_b8"
COMMAND = [sys.executable, "-m", "gnarl"]
PIPES: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
GRAPH = {
    "directed": True,
    "nodes": [{"id": "a", "op": "input", "value": 1.5}, {"id": "y", "op": "neg"}],
    "edges": [{"source": "a", "target": "y"}],
}


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "w.json"
    path.write_text(json.dumps(GRAPH))
    return path


def warned(stderr: str) -> list[str]:
    """Its lines, but for those that say how long a stage took."""
    return [line for line in stderr.splitlines() if not re.fullmatch(r".*: [0-9.]+ s", line)]


def test_characters_that_do_something_to_a_terminal_are_escaped() -> None:
    text = gnarl("passes", "\x1b[31m\0\ufeff\u202eünï 名前 🙂\udcff").stderr
    escaped = r"\x1b[31m\x00\ufeff\u202eünï 名前 🙂\udcff"
    assert text.startswith(f"gnarl: {escaped}: no such configuration;")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TypeError("two\n  lines"), "TypeError: two lines"),
        (Unprintable(), "Unprintable: Unprintable"),
        (SystemExit(1), "SystemExit: 1"),
        (OSError("no number"), "OSError: no number"),
        (GeneratorExit(), "GeneratorExit: GeneratorExit"),
    ],
)
def test_an_unexpected_error_is_a_line_and_a_file(
    graph: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    text: str,
) -> None:
    def compile(*arguments: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(Device, "compile", compile)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "logs"))
    (tmp_path / "logs").mkdir()
    result = gnarl("compile", CONFIG, graph, "-o", tmp_path / "x.npz")
    (log,) = (tmp_path / "logs").iterdir()
    assert (result.exit_code, result.stderr) == (
        3,
        f"gnarl: internal error: {text} (traceback: {log}; please report it)\n",
    )
    assert log.read_text().startswith("Traceback (most recent call last):\n")
    assert "in compile\n" in log.read_text()

    log.unlink()
    log.parent.rmdir()
    result = gnarl("compile", CONFIG, graph, "-o", tmp_path / "x.npz")
    assert result.stderr == (
        f"gnarl: internal error: {text} (no file for the traceback: No such file or directory)\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["w.json"]


@pytest.mark.parametrize("kind", [ImportError, SystemError, ValueError])
def test_an_interrupt_that_another_error_hides(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def compile(*arguments: Any, **options: Any) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise kind("import failed") from None

    monkeypatch.setattr(Device, "compile", compile)
    result = gnarl("compile", CONFIG, graph, "-o", tmp_path / "x.npz")
    assert (result.exit_code, result.stderr) == (130, "gnarl: interrupted\n")


@pytest.mark.parametrize(
    ("delay", "number"),
    slow_but(
        [
            (0.05, signal.SIGTERM),
            (0.15, signal.SIGINT),
            (0.3, signal.SIGTERM),
            (0.5, signal.SIGINT),
        ],
        product((0.05, 0.15, 0.3, 0.5, 0.8), (signal.SIGTERM, signal.SIGINT)),
    ),
)
def test_an_interrupt_of_imports(graph: Path, number: signal.Signals, delay: float) -> None:
    started = "import gnarl.__main__; print('started', flush=True); gnarl.__main__.main()"
    command = [sys.executable, "-c", started, "run", CONFIG, str(graph), "--backend", "model"]
    with subprocess.Popen(command, preexec_fn=default_interrupts, **PIPES) as child:
        assert child.stdout and child.stdout.readline() == "started\n"
        time.sleep(delay)
        child.send_signal(number)
        _, error = child.communicate(timeout=60)
    assert (child.returncode, error) in [(130, "gnarl: interrupted\n"), (0, "")]


STARTING = """
import os, signal, threading
import gnarl.__main__
start = threading.Thread.start
def interrupted_start(thread):
    start(thread)
    os.kill(os.getpid(), signal.{name})
threading.Thread.start = interrupted_start
gnarl.__main__.main()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_while_interrupts_become_exceptions(graph: Path, name: str) -> None:
    ended = run("run", CONFIG, graph, code=STARTING.format(name=name))
    assert (ended.returncode, ended.stderr) == (130, "gnarl: interrupted\n")


FINALIZER = """
import time
from gnarl.sw.commands.main import main
from gnarl.sw.runtime.run.device import Device

class Slow:
    def __del__(self):
        print("started", flush=True)
        time.sleep(10)

def compile(*_, **__):
    Slow()
    while True:  # Python drops what a finalizer raises
        time.sleep(1)

Device.compile = compile
main()
"""

MACHINE_CODE = """
import ctypes, signal, sys
from pathlib import Path
from gnarl.sw.commands.main import main
from gnarl.sw.program.atomic import atomic_path
from gnarl.sw.runtime.run.device import Device

def compile(*_, **__):
    with atomic_path("half.txt") as temporary:
        temporary.write_text("half")
        print("started", flush=True)
        end = ctypes.CDLL(None).sleep
        ctypes.pythonapi.PyErr_Clear()
        while end(10):  # as a library that takes up an interrupted call again
            pass

Device.compile = compile
main()
"""


@pytest.mark.parametrize(
    ("code", "number"),
    [(MACHINE_CODE, signal.SIGINT), (MACHINE_CODE, signal.SIGTERM), (FINALIZER, signal.SIGINT)],
)
def test_nothing_goes_on_after_an_interrupt(
    graph: Path, tmp_path: Path, code: str, number: signal.Signals
) -> None:
    with Forked("compile", CONFIG, graph, "-o", "x.npz", code=code, cwd=tmp_path) as child:
        assert child.stdout.readline() == "started\n"
        child.send_signal(number)
        _, error = child.communicate(timeout=8)
    assert (child.returncode, error) == (130, "gnarl: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["w.json"]


def ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def test_an_ignored_interrupt_stays_ignored(graph: Path) -> None:
    command = ("run", CONFIG, graph, "--backend", "model")
    with Forked(*command, before=ignore_interrupts) as child:
        for _ in range(20):
            time.sleep(0.02)
            child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=60)
    assert (child.returncode, error) == (0, "")


@pytest.mark.parametrize("json_option", [(), ("--json",)])
def test_a_result_without_a_reader_keeps_its_status(graph: Path, json_option: tuple[str]) -> None:
    with Forked("run", CONFIG, graph, "--backend", "model", *json_option) as child:
        child.stdout.close()
        assert (warned(child.stderr.read()), child.wait()) == ([], 0)


@pytest.mark.parametrize("command", [["configs"], ["--help"], ["passes", CONFIG]])
def test_short_output_without_a_reader(command: list[str]) -> None:
    with Forked(*command) as child:
        child.stdout.close()
        assert (child.stderr.read(), child.wait()) == ("", 0)


def test_output_that_cannot_be_written() -> None:
    with open("/dev/full", "w") as full:
        done = run("configs", stdout=full)
    reason = os.strerror(errno.ENOSPC)
    assert (done.returncode, done.stderr) == (2, f"gnarl: standard output: {reason}\n")


def test_closed_output(graph: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "run", CONFIG, graph, "--backend", "model"],
        preexec_fn=lambda: os.close(1),
        **PIPES,
    )
    assert (done.returncode, warned(done.stderr)) == (0, [])


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_errors_without_a_reader(unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Forked("run", "nowhere", "x", env=environment) as child:
        child.stderr.close()
        assert (child.stdout.read(), child.wait()) == ("", 2)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_an_encoding_that_lacks_characters(graph: Path, encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = run("run", CONFIG, graph, "--backend", "model", env=environment)
    assert (done.returncode, warned(done.stderr)) == (0, [])
    assert " bit-exact, error against float64" in done.stdout
    done = run("run", CONFIG, "\udcff\u00fc.json", env=environment)
    assert done.returncode == 2
    assert done.stderr.startswith("gnarl: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["$^{$", "$x$", "_", "\u6f22", "a\nb", "%s {}", "\\frac{1"])
def test_a_picture_of_a_workload_of_any_name(tmp_path: Path, name: str) -> None:
    path, picture = tmp_path / f"{name}.json", tmp_path / "x.png"
    path.write_text(json.dumps(GRAPH))
    result = gnarl("run", CONFIG, path, "--backend", "model", "--timeline", picture)
    assert (result.exit_code, warned(result.stderr)) == (0, [])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_line_has_an_end() -> None:
    result = gnarl("run", CONFIG, "x" * 100_000)
    assert result.exit_code == 2
    assert len(result.stderr) < 2100 and result.stderr.endswith("\u2026\n")


def test_warnings_are_lines(graph: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "GNARL_CACHE": str(tmp_path / "cache")}
    arguments = ("rtl", CONFIG, "-o", tmp_path / "out")
    assert run(*arguments, env=environment).returncode == 0
    (verilog,) = (tmp_path / "cache").glob("*/design.v")
    whole = verilog.read_bytes()
    verilog.write_bytes(b"\xff" + whole[1:])
    done = run(*arguments, env=environment)
    assert (done.returncode, warned(done.stderr)) == (
        0,
        [f"gnarl: warning: {verilog.parent}: damaged cache entry: made again"],
    )
    assert verilog.read_bytes() == whole
