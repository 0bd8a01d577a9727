"""A template from outside the project: one header in a folder of its own, and one Python class."""

from __future__ import annotations

import re
import runpy
from importlib import import_module
from pathlib import Path

import pytest

from gnarl.hw.lib.errors import WorkloadError
from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.templates import template, templates
from gnarl.sw.compiler.cuda.templates.template import (
    BlockCount,
    Parameter,
    Template,
    Work,
    register,
)
from gnarl.sw.runtime.cuda.emulation.kernels import EmulationError
from gnarl.sw.workloads.embedding.model import Feature
from tests.support.cuda.embedding_kernels import Bench, Case, case, check_cases, program_of

MANUAL = Path(__file__).parents[5] / "docs" / "cuda.md"

HEADER = """\
// A block for each sample, a thread for each column: kThreads of them.
#pragma once

#include "gnarl/embedding.cuh"

namespace mine {

template <class K, int kBlockThreads, int kThreads>
struct ThreadPerColumn {
  static_assert(kThreads <= kBlockThreads, "a block has so many threads");

  struct Shared {
    int length;
  };

  static __device__ void run(const gnarl::FeatureArguments& feature, int block, int blocks,
                             Shared& shared) {
    for (int sample = block; sample < feature.batch; sample += blocks) {
      const gnarl::Bag bag = gnarl::load_bag<K>(feature, sample);
      __syncthreads();
      if (threadIdx.x == 0) shared.length = bag.length;
      __syncthreads();
      if (threadIdx.x >= kThreads) continue;
      for (int column = threadIdx.x; column < K::kDim; column += kThreads) {
        auto total = gnarl::identity<K, 1>();
        for (int i = 0; i < shared.length; ++i) {
          const auto row = gnarl::load_row<K>(feature, bag.begin + i);
          if (row == gnarl::kNoRow) continue;
          const auto stored = gnarl::load_stored<K, 1>(feature, row, column);
          gnarl::accumulate<K>(total, gnarl::unpack<K, 1>(stored),
                               gnarl::load_weight<K>(feature, bag.begin + i));
        }
        gnarl::store_pooled<K>(feature, sample, column, total, bag.length);
      }
    }
  }
};

}  // namespace mine
"""


class ThreadPerColumn(Template):
    """A user's class."""

    name = "thread_per_column"
    header = "mine/thread_per_column.cuh"
    struct = "mine::ThreadPerColumn"
    parameters = (Parameter("threads", (32, 64, 256), "threads that work"),)

    def __init__(self, include: Path) -> None:
        self.include = include  # type: ignore[misc]

    def refusal(self, schedule: Schedule, feature: Feature, block_threads: int) -> str:
        threads = schedule["threads"]
        if threads > block_threads:
            return f"threads = {threads}: must be at most {block_threads}"
        return ""

    def block_count(self, schedule: Schedule, feature: Feature, block_threads: int) -> BlockCount:
        return BlockCount("samples")

    def shared_bytes(self, schedule: Schedule, feature: Feature, block_threads: int) -> int:
        return 4

    def work(
        self,
        schedule: Schedule,
        feature: Feature,
        block_threads: int,
        batch: float,
        values: float,
        longest: float,
    ) -> Work:
        turns = -(-feature.dim // schedule["threads"])
        rows = values / batch
        return Work(longest * turns, rows * turns * 10, rows * feature.dim / 8, 2)


@pytest.fixture
def custom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ThreadPerColumn:
    """It, registered for one test."""
    header = tmp_path / ThreadPerColumn.header
    header.parent.mkdir()
    header.write_text(HEADER)
    module = import_module("gnarl.sw.compiler.cuda.templates.template")
    monkeypatch.setattr(module, "_TEMPLATES", templates())
    registered = ThreadPerColumn(tmp_path)
    assert register(registered) is registered
    return registered


def test_it_runs_alone_and_beside_the_projects_own(custom: ThreadPerColumn) -> None:
    feature = Feature("f", 20, 100, "mean", "bfloat16")
    own = [Case(feature, schedule) for schedule in custom.candidates(feature, 128)]
    assert [str(one.schedule) for one in own] == [
        "thread_per_column(threads=32)",
        "thread_per_column(threads=64)",
    ]
    check_cases(own)
    others = [
        case("one_hot", vector=4, samples_per_thread=2),
        case("split_sample", vector=4, parts=4, unroll=2),
    ]
    check_cases([*own, *others])


def test_the_manuals_example_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manual = MANUAL.read_text().split("### A template of one's own")[1]
    header = re.findall(r"```cpp\n(.*?)```", manual, re.DOTALL)[0]
    module = re.findall(r"```python\n(.*?)```", manual, re.DOTALL)[0]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/columns.cuh").write_text(header)
    (tmp_path / "mine.py").write_text(module)
    monkeypatch.setattr(
        import_module("gnarl.sw.compiler.cuda.templates.template"), "_TEMPLATES", {}
    )
    runpy.run_path(str(tmp_path / "mine.py"))
    for feature in (
        Feature("f", 20, 100, "mean", "bfloat16"),
        Feature("f", 20, 200, "max"),
        Feature("f", 20, 32, weighted=True),
    ):
        schedules = list(template("columns").candidates(feature, 128))
        assert [schedule["unroll"] for schedule in schedules] == [1, 2, 4]
        check_cases([Case(feature, schedule) for schedule in schedules])
    short = Feature("f", 20, 31)
    assert not list(template("columns").candidates(short, 128))


def test_it_is_listed_and_found_by_name(custom: ThreadPerColumn) -> None:
    assert template("thread_per_column") is custom
    assert list(templates())[-1] == "thread_per_column"


def test_without_registration_it_is_unknown() -> None:
    with pytest.raises(WorkloadError) as caught:
        template("thread_per_column")
    assert str(caught.value) == f"template 'thread_per_column': there are {', '.join(templates())}"


def test_shared_memory_that_python_and_header_disagree_on_does_not_compile(
    custom: ThreadPerColumn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ThreadPerColumn, "shared_bytes", lambda *_: 8)
    with pytest.raises(EmulationError) as caught:
        Bench(program_of([case("thread_per_column", threads=32)]))
    assert str(caught.value).endswith("shared_bytes of thread_per_column(threads=32) is wrong")
