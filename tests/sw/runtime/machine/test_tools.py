"""Where tools are, what they complain of, and that interrupts end all that they have started."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.runtime.machine.tools import cxx, first_complaint, program, run_tool
from tests.support.commands import default_interrupts


class ToolError(GnarlError):
    pass


def shell(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_tool(["sh", "-c", script], folder, "this test needs it", ToolError, environment)


def test_output_and_exit_status(tmp_path: Path) -> None:
    done = shell("echo $WORD; pwd; printf '\\377\\n' >&2; exit 3", tmp_path, WORD="word")
    assert (done.returncode, done.stdout) == (3, f"word\n{tmp_path}\n\ufffd\n")


def test_lines_are_heard_as_they_come(tmp_path: Path) -> None:
    """The program goes on once its first line was heard."""
    heard: list[str] = []

    def hear(line: str) -> None:
        heard.append(line)
        (tmp_path / "heard").touch()

    script = "echo one; until test -e heard; do sleep 0.01; done; printf two"
    command = ["timeout", "60", "sh", "-c", script]
    done = run_tool(command, tmp_path, "this test needs it", ToolError, hear=hear)
    assert (done.returncode, done.stdout, heard) == (0, "one\ntwo", ["one\n", "two"])


def test_a_full_disk_is_an_error_of_writing(tmp_path: Path) -> None:
    text = "cc1plus: error writing to x.o: No space left on device"
    assert shell(f"echo '{text}'", tmp_path).returncode == 0
    with pytest.raises(OSError, match="No space left on device") as caught:
        shell(f"echo '{text}'; exit 1", tmp_path)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path))


def test_a_machine_without_memory(tmp_path: Path) -> None:
    """As GCC and the Yosys of Amaranth say it."""
    for text in (
        "virtual memory exhausted: Cannot allocate memory",
        "Caused by:\n    Cannot allocate memory (os error 12)",
    ):
        with pytest.raises(MemoryError, match=f"^a program .* {tmp_path}: Cannot allocate memory$"):
            shell(f"echo '{text}'; exit 1", tmp_path)


def test_flags_of_an_outer_make_are_not_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAKEFLAGS", "-j7")
    assert shell('echo "$MAKEFLAGS"', tmp_path).stdout == "\n"


def test_a_tool_that_is_not_installed(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="^no_such_tool is not installed: tests need it$"):
        run_tool(["no_such_tool"], tmp_path, "tests need it", ToolError)


def test_programs_of_this_environment_come_first() -> None:
    assert program(Path(sys.executable).name) == sys.executable
    assert program("no_such_tool") == "no_such_tool"


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        ("Reading\n  ERROR: line 3: no such cell\nError: second\n", "ERROR: line 3: no such cell"),
        ("no error yet\nmap.v:12: error: too wide\n", "map.v:12: error: too wide"),
        ("Errors found: 0\nKilled \n\n", "Killed"),
        ("\n", "exit status 4"),
    ],
)
def test_the_first_complaint(output: str, complaint: str) -> None:
    assert first_complaint(subprocess.CompletedProcess("tool", 4, output)) == complaint


SCRIPT = """
import sys
from pathlib import Path
from tests.sw.runtime.machine.test_tools import shell

shell("sleep 600 & echo $! > child; echo started > mark; wait", Path(sys.argv[1]))
"""


def test_an_interrupt_ends_what_a_tool_has_started(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    root = Path(__file__).parents[4]
    with subprocess.Popen(
        command, cwd=root, stderr=subprocess.DEVNULL, preexec_fn=default_interrupts
    ) as process:
        until(lambda: (tmp_path / "mark").exists())
        child = int((tmp_path / "child").read_text())
        process.send_signal(signal.SIGINT)
        assert process.wait(20) != 0
    until(lambda: not is_running(child))


def until(condition: object) -> None:
    assert callable(condition)
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    os.kill(process, 0)
    return state != "Z"


@pytest.mark.parametrize(
    ("value", "command"),
    [(None, ["c++"]), ("", ["c++"]), ("g++-12", ["g++-12"]), ("ccache 'g ++'", ["ccache", "g ++"])],
)
def test_the_compiler_is_that_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, value: str | None, command: list[str]
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    if value is not None:
        monkeypatch.setenv("CXX", value)
    assert cxx() == command
