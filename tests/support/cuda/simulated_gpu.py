"""A GPU that the tuner's tests measure on: deterministic, with interference, breakable.

Alone, a kernel is as fast as its latency. Among others it also pays for the bandwidth that it asks
for, more with more blocks on a multiprocessor. So what is best alone isn't what is best in company.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Sequence

from gnarl.sw.compiler.cuda.schedule import Schedule
from gnarl.sw.compiler.cuda.tune.measurer import (
    DeviceFailure,
    FusedJob,
    Job,
    JobFailure,
    LocalJob,
)
from gnarl.sw.workloads.embedding.data import synthesise_batch
from gnarl.sw.workloads.embedding.model import (
    Batch,
    EmbeddingModel,
    Feature,
    FeatureKind,
    PoolingFactors,
)


def small_model() -> EmbeddingModel:
    """Three kinds of features, two of the first."""
    multi_hot = PoolingFactors(50.0, 10.0, 100, 0.8)
    return EmbeddingModel(
        "small",
        (
            Feature("colour", 1000, 4),
            Feature("words", 1000, 32, factors=multi_hot),
            Feature("size", 1000, 4),
            Feature("links", 4000, 128, factors=multi_hot),
        ),
    )


def batches(model: EmbeddingModel, count: int = 2, seed: int = 0) -> list[Batch]:
    return [synthesise_batch(model, 64, seed, number) for number in range(count)]


class SimulatedGpus:
    """``Measurer`` whose times are functions of what is measured.

    seed
        another one makes other schedules fast.
    fails
        texts of failures by jobs, or nothing for jobs that succeed.
    lost
        for each device that fails, the jobs that it measures before.
    together
        whether each device waits with its first job until all of them have one.
    long
        time of the longest blocks, for which whole kernels wait.
    """

    def __init__(
        self,
        model: EmbeddingModel,
        *,
        seed: int = 0,
        devices: int = 1,
        fails: Callable[[Job], str] = lambda job: "",
        lost: dict[int, int] | None = None,
        together: bool = False,
        long: float = 0.0,
    ) -> None:
        self.model = model
        self.seed = seed
        self.measured: list[Job] = []
        self.on_device: Counter[int] = Counter()
        self.prepared: list[Job] = []
        self._devices = devices
        self._long = long
        self._fails = fails
        self._lost = lost or {}
        self._first = threading.Barrier(devices, timeout=60) if together else None
        self._begun: set[int] = set()
        self._busy = [threading.Lock() for _ in range(devices)]

    def devices(self) -> int:
        return self._devices

    def products(self) -> str:
        return "simulated"

    def prepare(self, jobs: Sequence[Job]) -> None:
        self.prepared += jobs

    def local(self, device: int, job: LocalJob) -> list[float]:
        self._measure(device, job)
        kind = self.model.features[job.feature].kind
        company = bool(job.padding)
        # How warm the chip is hits all candidates of a launch alike.
        warmth = 1 + self._draw("warmth", job) / 2
        times = [
            warmth * self.block_times(kind, each, job.blocks_per_sm, company)
            for each in job.candidates
        ]
        return [*times, *(warmth * self.longest(kind, each) for each in job.candidates)]

    def fused(self, device: int, job: FusedJob) -> float:
        self._measure(device, job)
        return self.latency(job)

    def latency(self, job: FusedJob) -> float:
        """ns, by equation (2): all blocks' times over the blocks that run at a time; and the
        longest block."""
        blocks_per_sm = job.schedules.blocks_per_sm
        company = len(job.features) > 1
        longest = max(
            self.longest(self.model.features[feature].kind, job.schedules.schedule(place))
            for place, feature in enumerate(job.features)
        )
        return longest + sum(
            self.block_times(
                self.model.features[feature].kind,
                job.schedules.schedule(place),
                blocks_per_sm,
                company,
            )
            / blocks_per_sm
            for place, feature in enumerate(job.features)
        )

    def block_times(
        self, kind: FeatureKind, schedule: Schedule, blocks_per_sm: int, company: bool
    ) -> float:
        """Hungry schedules are fast alone, and slow where others want the memory, too."""
        hunger = self._draw("hunger", kind, schedule)
        alone = 1e4 * (1.2 - hunger + 0.1 * self._draw("chance", kind, schedule))
        return alone + (company and 1e3 * blocks_per_sm * hunger * (1 + hunger))

    def longest(self, kind: FeatureKind, schedule: Schedule) -> float:
        """The longest time of one block."""
        return self._long * self._draw("longest", kind, schedule)

    def _draw(self, *what: object) -> float:
        """From 0 to 1, the same for the same."""
        digest = hashlib.sha256(repr((self.seed, *what)).encode()).digest()
        return int.from_bytes(digest[:6], "little") / 2**48

    def _measure(self, device: int, job: Job) -> None:
        assert self._busy[device].acquire(blocking=False), "a device measures one job at a time"
        try:
            if self._first is not None and device not in self._begun:
                self._begun.add(device)
                self._first.wait()
            if self._lost.get(device) == self.on_device[device]:
                raise DeviceFailure("it has fallen off the bus")
            if text := self._fails(job):
                raise JobFailure(text)
            self.measured.append(job)
            self.on_device[device] += 1
        finally:
            self._busy[device].release()
