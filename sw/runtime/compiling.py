"""From what a target's users have to programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sw.program.program import Program
from sw.runtime.configuration import NamedConfiguration, load_configuration
from sw.runtime.stages import Stages, quiet
from sw.targets import Frontend


class Compiling:
    """What all devices do before they run.

    configuration
        its name or the path of its file, or one that is loaded already.
    stages
        told how far work is.
    """

    def __init__(
        self, configuration: str | Path | NamedConfiguration, *, stages: Stages = quiet
    ) -> None:
        if not isinstance(configuration, NamedConfiguration):
            configuration = load_configuration(configuration)
        self.configuration = configuration
        self._frontend: Frontend = configuration.target.part("runtime")
        self._stages = stages

    def workload(self, source: Any, seed: int = 0) -> Any:
        """The target's workload from a path or from what else its frontends take.

        Raises ``WorkloadError`` that names the place in it. ``seed`` is for values it lacks.
        """
        with self._stages("load"):
            return self._frontend.workload(source, seed)

    def compile(self, source: Any, **options: Any) -> Program:
        """A program for this configuration from what ``workload`` takes, or its result.

        ``options`` are the target's compiler's own, ``seed`` for one. Raises ``WorkloadError``, and
        ``CapacityError`` that names what the configuration has too little of.
        """
        workload = self.workload(source, options.get("seed", 0))
        compiler = self.configuration.target.part("compile")
        with self._stages("prepare compiler"):
            self._frontend.prepare()
        with self._stages("compile") as advance:
            return compiler(workload, self.configuration.config, progress=advance, **options)
