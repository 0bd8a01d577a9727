"""``gnarl explore --dask``: on a cluster of two processes, of which one dies, and then all."""

from __future__ import annotations

import json
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from distributed import LocalCluster

from gnarl.sw.commands import explore as command
from tests.support.commands import gnarl, refusal
from tests.support.targets.counted import Order, counted_target, run_here


def test_a_worker_dies_and_then_the_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost, and nothing but what they had begun is done twice."""
    packages, first, second = (tmp_path / name for name in ("packages", "first", "second"))
    for folder in (packages, first, second):
        folder.mkdir()
    with counted_target(packages):
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        )
        with cluster:
            on_cluster = ("--dask", cluster.scheduler_address)
            order = Order(first, kills={"3": 1})
            sweep = ("--sweep", "number=1,2,3,4,5,6", "-o", first / "out")
            result = gnarl("explore", "counted", order.path, *sweep, *on_cluster, "--json")
            assert (result.exit_code, result.stderr) == (0, "")
            points = json.loads(result.stdout)["points"]
            assert [point["cycles"] for point in points] == [10, 20, 30, 40, 50, 60]
            assert sorted(order.runs()) == [1, 2, 3, 3, 4, 5, 6]

            order = Order(second, waits=[3])
            sweep = ("--sweep", "number=1,2,3", "-o", second / "out")
            closing = threading.Thread(target=_close, args=(cluster, second / "out"))
            closing.start()
            result = gnarl("explore", "counted", order.path, *sweep, *on_cluster)
            closing.join()
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            f"gnarl: --dask {on_cluster[1]}: the cluster has gone away; the same command goes on\n"
        )
        order.go()
        monkeypatch.setattr(command, "_runner", lambda *_: nullcontext(run_here))
        result = gnarl("explore", "counted", order.path, *sweep, "--json")
        assert [point["cycles"] for point in json.loads(result.stdout)["points"]] == [10, 20, 30]
        # The third may not have begun when the cluster went.
        assert sorted(order.runs()) in ([1, 2, 3], [1, 2, 3, 3])
        monkeypatch.undo()
        third = ("explore", "counted", order.path, "--sweep", "number=4", "-o", tmp_path / "third")
        line = refusal(tmp_path, *third, *on_cluster)
        assert line.startswith(f"gnarl: --dask {on_cluster[1]}: no cluster answers: ")


def _close(cluster: LocalCluster, folder: Path) -> None:
    """Closes the cluster once two results are in the folder."""
    results = folder / "results.jsonl"
    while not results.exists() or results.read_text().count("\n") < 3:
        time.sleep(0.01)
    cluster.close()


def test_without_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    (tmp_path / "packages").mkdir()
    with counted_target(tmp_path / "packages"):
        order = Order(tmp_path)
        words = ("explore", "counted", order.path, "--sweep", "number=1", "-o", tmp_path / "out")
        assert refusal(tmp_path, *words, "--dask", "tcp://localhost:1") == (
            "gnarl: --dask: Dask is not installed: pip install 'gnarl[explore]'"
        )
        assert refusal(tmp_path, *words, "--dask", "tcp://localhost:1", "--jobs", "1") == (
            "gnarl explore: --jobs: a cluster has as many as it has workers: not for --dask. See "
            "gnarl explore --help"
        )
