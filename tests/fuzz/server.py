"""Runs cases, each in a process forked from one that has everything imported.

``python -m tests.fuzz.server FOLDER`` reads lines ``SEED NUMBER`` and answers each with an
``Outcome`` as a line of JSON. It has one thread, so that it can be forked: equality saturation,
which starts threads that a child of the process lacks and would wait for, runs in children alone.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import resource
import shutil
import signal
import sys
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, NoReturn
from unittest import mock

import gnarl.sw.compiler.sram_compute.compile as sram_compile
from gnarl.sw.commands.main import main
from gnarl.sw.compiler.cuda.tune.journal import journal_path
from gnarl.sw.compiler.sram_compute.tdfg.plan import Step
from gnarl.sw.runtime.cuda import tuning
from tests.fuzz.cases import Case, make_case
from tests.fuzz.formats import FORMATS, JOURNALLED
from tests.fuzz.valid_files import COMPILED, write_valid_files
from tests.fuzz.verdict import failure
from tests.support.commands import state
from tests.support.cuda.simulated_gpu import SimulatedGpus
from tests.support.fork_server import check_for_threads, freeze

CPU_S = 10
"""Of one case, processor time."""

WALL_S = 120
"""Of one case, for what waits."""

MEMORY_BYTES = 1 << 30
"""Of one case, beyond what the server has."""

FILE_BYTES = 1 << 28


@dataclass(frozen=True)
class Outcome:
    """``failure`` says what is wrong; nothing if the command did what commands do."""

    seed: int
    number: int
    format: str
    damage: str
    command: tuple[str, ...]
    status: int
    stderr: str
    seconds: float
    failure: str


class Server:
    """Cases below a new folder: ``valid``, the files before damage, and ``case``, of the latest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.valid = folder / "valid"
        self.valid.mkdir(parents=True)
        with mock.patch.object(sram_compile, "optimise_plan", _not_optimised):
            self._make_valid_files()
            self._warm_up()
        check_for_threads()
        freeze()

    def run(self, seed: int, number: int) -> Outcome:
        case_folder, temporary = self.folder / "case", self.folder / "temporary"
        for each in (case_folder, temporary):
            shutil.rmtree(each, ignore_errors=True)
        temporary.mkdir()
        case = make_case(seed, number, self.valid, case_folder)
        before = state(case_folder)
        status, seconds = self._fork(case, case_folder)
        stdout, stderr = (
            (self.folder / name).read_text(errors="backslashreplace")
            for name in ("stdout", "stderr")
        )
        wrong = failure(case, status, stdout, stderr, before, state(case_folder))
        for path in sorted(temporary.iterdir()):
            stderr += path.read_text(errors="backslashreplace")  # of an internal error
            wrong = wrong or f"{path.name} was left"
        return Outcome(
            *(seed, number, case.format.name, case.damage, case.command),
            *(status, stderr, round(seconds, 3), wrong),
        )

    def _make_valid_files(self) -> None:
        write_valid_files(self.valid)
        with contextlib.chdir(self.valid):
            for words in COMPILED:
                _succeed("compile", *words)
            _simulate_gpus()
            _succeed(*JOURNALLED[:-1], "schedules.json")
            _simulate_gpus(lost={0: 4})
            assert _call(*JOURNALLED) == 2
            assert journal_path(Path("out.json")).exists()
            _simulate_gpus()

    def _warm_up(self) -> None:
        """All commands without damage, so that children find all imported and compiled."""
        for format in FORMATS:
            for command in format.commands:
                folder = self.folder / "case"
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(self.valid, folder)
                with contextlib.chdir(folder):
                    _succeed(*command)

    def _fork(self, case: Case, folder: Path) -> tuple[int, float]:
        with (
            open(self.folder / "stdout", "wb") as stdout,
            open(self.folder / "stderr", "wb") as stderr,
        ):
            child = os.fork()
            if child == 0:
                _run_in_child(case, folder, stdout, stderr)
        _, wait_status, used = os.wait4(child, 0)
        return os.waitstatus_to_exitcode(wait_status), used.ru_utime + used.ru_stime


def _run_in_child(case: Case, folder: Path, stdout: IO[bytes], stderr: IO[bytes]) -> NoReturn:
    status = 1
    try:
        os.dup2(stdout.fileno(), 1)
        os.dup2(stderr.fileno(), 2)
        for stream, errors in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
            assert isinstance(stream, io.TextIOWrapper)
            stream.reconfigure(encoding=case.encoding, errors=errors)
        faulthandler.enable()
        os.chdir(folder)
        temporary = folder.parent / "temporary"
        # What is to be built, fails.
        os.environ |= {"PATH": str(temporary), "TMPDIR": str(temporary)}
        _limit()
        status = _call(*case.command)
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stderr.flush()
        os._exit(status)


def _not_optimised(steps: tuple[Step, ...], **_: Any) -> tuple[Step, ...]:
    return steps


def _limit() -> None:
    signal.alarm(WALL_S)
    memory = Path("/proc/self/statm")
    limits = {
        resource.RLIMIT_CPU: CPU_S,
        resource.RLIMIT_FSIZE: FILE_BYTES,
        resource.RLIMIT_CORE: 0,
    }
    if memory.exists():
        used = int(memory.read_text().split()[0]) * resource.getpagesize()
        limits[resource.RLIMIT_AS] = used + MEMORY_BYTES
    for kind, limit in limits.items():
        resource.setrlimit(kind, (limit, limit))


def _call(*arguments: str) -> int:
    """The exit status of a command in this process."""
    try:
        main(list(arguments), prog_name="gnarl")
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    return 0


def _succeed(*arguments: str) -> None:
    assert _call(*arguments) == 0, arguments


def _simulate_gpus(**options: Any) -> None:
    tuning.find_measurer = lambda model, *_: _Measurer(model, **options)


class _Measurer(SimulatedGpus, contextlib.AbstractContextManager[Any]):
    def __exit__(self, *_: object) -> None:
        pass


def serve(folder: Path) -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with open(os.devnull) as nothing, open(folder / "log", "w") as log:
        os.dup2(log.fileno(), 1)
        requests = os.fdopen(os.dup(0))
        os.dup2(nothing.fileno(), 0)
        server = Server(folder)
        for line in requests:
            seed, number = map(int, line.split())
            print(json.dumps(asdict(server.run(seed, number))), file=answers, flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
