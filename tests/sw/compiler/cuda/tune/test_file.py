"""Tuning to a file: interrupted anywhere it resumes where it was, to the same result."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda import schedule_file
from gnarl.sw.compiler.cuda.config import CudaConfig
from gnarl.sw.compiler.cuda.occupancy import occupancies
from gnarl.sw.compiler.cuda.tune import tune
from gnarl.sw.compiler.cuda.tune.journal import journal_path
from gnarl.sw.compiler.cuda.tune.measurer import DeviceFailure, LocalJob
from tests.support.cuda.simulated_gpu import SimulatedGpus, batches, small_model
from tests.support.errors import refused

CONFIG = CudaConfig(arch="sm_90", workers="blocks")
MODEL = small_model()
BATCHES = batches(MODEL)
OCCUPANCIES = len(occupancies(CONFIG.arch, CONFIG.block_threads))


def _kernels() -> int:
    """Kernels that a tuning measures: which fused ones are different depends on the times."""
    gpus = SimulatedGpus(MODEL)
    tune(MODEL, CONFIG, BATCHES, gpus)
    return len(gpus.measured)


KERNELS = _kernels()
MOST = (3 + 3) * OCCUPANCIES
"""Until the local stage has found which fused ones are different."""


class Interrupted(Exception):
    pass


def interrupting(after: int) -> SimulatedGpus:
    """Gives up when so many jobs have been measured."""
    gpus: SimulatedGpus

    def fails(job):
        if len(gpus.measured) == after:
            raise Interrupted
        return ""

    gpus = SimulatedGpus(MODEL, fails=fails)
    return gpus


def run(output: Path, gpus: SimulatedGpus, **options):
    return tune(MODEL, CONFIG, BATCHES, gpus, output=output, **options)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    output = tmp_path_factory.mktemp("tuned") / "schedules.json"
    run(output, SimulatedGpus(MODEL))
    return output.read_bytes()


def test_the_file_holds_what_was_found(tmp_path):
    output = tmp_path / "schedules.json"
    found = run(output, SimulatedGpus(MODEL))
    assert found == tune(MODEL, CONFIG, BATCHES, SimulatedGpus(MODEL))
    assert schedule_file.load(output, MODEL, CONFIG) == found
    assert list(tmp_path.iterdir()) == [output]


@pytest.mark.parametrize("after", [0, 1, 2, KERNELS // 2, KERNELS - 2, KERNELS - 1])
def test_an_interrupted_tuning_goes_on_where_it_was(tmp_path, expected, after):
    output = tmp_path / "schedules.json"
    with pytest.raises(Interrupted):
        run(output, interrupting(after))
    assert not output.exists()
    gpus = SimulatedGpus(MODEL)
    run(output, gpus)
    assert len(gpus.measured) == KERNELS - after
    assert output.read_bytes() == expected
    assert list(tmp_path.iterdir()) == [output]


def test_the_journal_may_lie_anywhere(tmp_path, expected):
    output, journal = tmp_path / "schedules.json", tmp_path / "elsewhere" / "measured"
    journal.parent.mkdir()
    with pytest.raises(Interrupted):
        run(output, interrupting(5), journal=journal)
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]
    gpus = SimulatedGpus(MODEL)
    run(output, gpus, journal=journal)
    assert len(gpus.measured) == KERNELS - 5
    assert output.read_bytes() == expected
    assert not list(journal.parent.iterdir())


@pytest.mark.parametrize("times", [[1.5], [1.5] * 99])
def test_a_job_with_another_number_of_times_than_candidates_is_named(tmp_path, times):
    output = tmp_path / "schedules.json"
    with pytest.raises(Interrupted):
        run(output, interrupting(3))
    journal = journal_path(output)
    lines = journal.read_text().splitlines()
    changed = {**json.loads(lines[2]), "times": times}
    text = "\n".join([*lines[:2], json.dumps(changed), *lines[3:], ""])
    journal.write_text(text)
    with refused(f"{journal}: line 3: is damaged: delete the file to start again"):
        run(output, SimulatedGpus(MODEL))
    assert journal.read_text() == text


def test_interrupted_again_and_again(tmp_path, expected):
    output = tmp_path / "schedules.json"
    for _ in range(KERNELS // 7):
        with pytest.raises(Interrupted):
            run(output, interrupting(7))
    run(output, SimulatedGpus(MODEL))
    assert output.read_bytes() == expected


def test_killed(tmp_path, expected):
    output = tmp_path / "schedules.json"
    script = f"""
        import os, signal, sys
        from tests.sw.compiler.cuda.tune.test_file import MODEL, SimulatedGpus, run
        from pathlib import Path

        class Killing(SimulatedGpus):
            def local(self, device, job):
                if len(self.measured) == 5:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().local(device, job)

        run(Path({str(output)!r}), Killing(MODEL))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], timeout=120)
    assert done.returncode == -signal.SIGKILL
    gpus = SimulatedGpus(MODEL)
    run(output, gpus)
    assert len(gpus.measured) == KERNELS - 5
    assert output.read_bytes() == expected


def test_a_tuning_that_lost_its_devices_goes_on_on_others(tmp_path, expected):
    output = tmp_path / "schedules.json"
    lost = "it has fallen off the bus"
    with pytest.raises(DeviceFailure) as caught:
        run(output, SimulatedGpus(MODEL, devices=2, lost={0: 3, 1: 4}))
    assert str(caught.value) == (
        f"no GPU to measure 20 kernels on: GPU 0: {lost}; GPU 1: {lost}; "
        f"the same command resumes from {journal_path(output)}"
    )
    gpus = SimulatedGpus(MODEL, devices=3)
    run(output, gpus)
    assert len(gpus.measured) == KERNELS - 7
    assert output.read_bytes() == expected


def test_failures_are_kept_too(tmp_path):
    output, again = tmp_path / "a.json", tmp_path / "b.json"

    def fails(job):
        return "it hangs" if isinstance(job, LocalJob) and job.feature == 3 else ""

    whole = SimulatedGpus(MODEL, fails=fails)
    run(again, whole)
    with pytest.raises(DeviceFailure):
        run(output, SimulatedGpus(MODEL, fails=fails, lost={0: 2}))
    run(output, SimulatedGpus(MODEL, fails=fails))
    assert output.read_bytes() == again.read_bytes()


def test_the_journal_of_another_tuning_is_refused(tmp_path):
    output = tmp_path / "schedules.json"
    with pytest.raises(Interrupted):
        run(output, interrupting(3))
    with refused(
        f"{journal_path(output)}: line 1: candidates = 8: must be 5: delete the file to start "
        "again, or tune to another"
    ):
        run(output, SimulatedGpus(MODEL), candidates=5)
    with refused(
        f"{journal_path(output)}: line 1: seed = 0: must be 1: delete the file to start "
        "again, or tune to another"
    ):
        run(output, SimulatedGpus(MODEL), seed=1)
    with pytest.raises(WorkloadError, match="line 1: configuration = "):
        run(output, SimulatedGpus(MODEL), candidates=3, quick=True)


def test_a_tuning_on_other_batches_is_another(tmp_path):
    output = tmp_path / "schedules.json"
    with pytest.raises(Interrupted):
        run(output, interrupting(3))
    with pytest.raises(Exception, match="line 1: batches = "):
        tune(MODEL, CONFIG, batches(MODEL, seed=1), SimulatedGpus(MODEL), output=output)


def test_times_of_another_gpu_or_of_other_templates_are_not_mixed(tmp_path, monkeypatch):
    output = tmp_path / "schedules.json"
    with pytest.raises(Interrupted):
        run(output, interrupting(3))
    other = SimulatedGpus(MODEL)
    monkeypatch.setattr(other, "products", lambda: "another")
    with refused(
        f"{journal_path(output)}: line 1: GPUs = simulated: must be another: delete the file to "
        "start again, or tune to another"
    ):
        run(output, other)
    monkeypatch.setattr("gnarl.sw.compiler.cuda.tune.file_texts", lambda folder: ["changed"])
    with pytest.raises(Exception, match="line 1: headers = "):
        run(output, SimulatedGpus(MODEL))


def test_without_measuring_there_is_no_journal_and_an_older_one_stays(tmp_path):
    output = tmp_path / "schedules.json"
    with pytest.raises(Interrupted):
        run(output, interrupting(3))
    text = journal_path(output).read_bytes()
    run(output, SimulatedGpus(MODEL), strategy="cost-model")
    assert journal_path(output).read_bytes() == text


def test_progress_counts_up_to_all_kernels(tmp_path):
    calls: list[tuple[int, int, float | None]] = []
    run(
        tmp_path / "a.json",
        SimulatedGpus(MODEL),
        progress=lambda *event: calls.append(event),
    )
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, KERNELS)
    assert [call[1] for call in calls] == [MOST] * (3 * OCCUPANCIES + 1) + [KERNELS] * (
        len(calls) - 3 * OCCUPANCIES - 1
    )
    assert calls[0][2] is None
    left = [seconds for _, _, seconds in calls[1:] if seconds is not None]
    assert len(left) == len(calls) - 1
    assert left[-1] == 0
    assert all(seconds > 0 for seconds in left[: KERNELS // 2])


def test_progress_begins_with_what_the_journal_has(tmp_path):
    output = tmp_path / "a.json"
    with pytest.raises(Interrupted):
        run(output, interrupting(7))
    calls: list[tuple[int, int, float | None]] = []
    run(output, SimulatedGpus(MODEL), progress=lambda *event: calls.append(event))
    assert calls[0] == (7, MOST, None)
    assert calls[-1][:2] == (KERNELS, KERNELS)


def test_a_device_that_fails_is_noted(tmp_path):
    notes: list[str] = []
    gpus = SimulatedGpus(MODEL, devices=2, lost={1: 0}, together=True)
    run(tmp_path / "a.json", gpus, note=notes.append)
    assert notes == ["GPU 1: it has fallen off the bus"]
