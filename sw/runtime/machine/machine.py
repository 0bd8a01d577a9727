"""Machines: what runs launches, whatever it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from gnarl.sw.program.program import Launch
from gnarl.sw.program.rows import Samples
from gnarl.sw.program.tensor_spec import Array

JobT = TypeVar("JobT")
JobT_contra = TypeVar("JobT_contra", contravariant=True)


@dataclass(frozen=True)
class Finished:
    """What a launch left.

    outputs
        arrays by name.
    cycles
        from start to done; ``None`` where the machine does not count them.
    counters
        the target's own, by name.
    samples
        what counters were in the course of the run, where they were read.
    """

    outputs: Mapping[str, Array]
    cycles: int | None
    counters: Mapping[str, int]
    samples: Samples | None = None


@dataclass(frozen=True)
class LaunchRun(Generic[JobT]):
    """A launch that has run. ``job``: what the machine was given, as the target makes it."""

    launch: Launch
    job: JobT
    finished: Finished


class Machine(Protocol[JobT_contra]):
    """A machine of one configuration, empty at first. It takes one job after the other.

    Methods raise ``GnarlError`` where the machine stops with an error; the next ``load`` may
    follow.
    """

    def load(self, job: JobT_contra) -> None:
        """Loads what the job reads, except for what the machine already holds."""

    def start(self) -> None:
        """Begins the job that was loaded last."""

    def wait(self) -> None:
        """Returns when the job has ended."""

    def read(self) -> Finished:
        """What the job that ended last has left."""

    def close(self) -> None:
        """Ends the machine."""
