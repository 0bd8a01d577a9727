"""Fills the caches before they are needed: inner loops, Verilog, simulators.

``python -m gnarl.sw.runtime.run.warm_up`` compiles inner loops into numba's cache, so that the
first workload need not wait.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from gnarl.hw.lib.errors import GnarlError
from gnarl.sw.runtime.run.session import run_once
from gnarl.sw.runtime.target.configuration import NamedConfiguration, load_configuration
from gnarl.sw.runtime.target.registry import loaded


def main() -> None:
    """Compiles and runs the examples of each target on its last backend, which builds no RTL."""
    for target in loaded().values():
        configuration = (
            load_configuration(target.demo)
            if target.demo
            else NamedConfiguration(target.name, "", target, target.configuration(), {})
        )
        try:
            _run_examples(configuration, target.executor.backends[-1])
        except GnarlError as error:  # a part that is not installed, which others do without
            print(f"{target.name}: {error}", file=sys.stderr)


@contextmanager
def running_ahead(configurations: Sequence[str]) -> Iterator[None]:
    """A second process runs the examples of ``configurations``, the last one first.

    Whoever runs them in their order meanwhile finds in the caches what it has built: much of a
    build takes one core only. It is ended with the ``with`` block, wherever it is.
    """
    if len(configurations) < 2 or len(os.sched_getaffinity(0)) < 2:
        yield
        return
    process = multiprocessing.get_context("spawn").Process(
        target=_run_ahead, args=(list(reversed(configurations)),), daemon=True
    )
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def _run_ahead(configurations: Sequence[str]) -> None:
    # The terminal's interrupts are for the first process, which ends this one: so that it ends what
    # it has started.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for name in configurations:
            _run_examples(load_configuration(name))
    except (GnarlError, OSError, KeyboardInterrupt):  # the first process meets the same error
        pass


def _run_examples(configuration: NamedConfiguration, backend: str | None = None) -> None:
    with TemporaryDirectory() as folder:
        for example in configuration.target.reader.examples(Path(folder)):
            run_once(
                configuration,
                example.source,
                backend=backend,
                tensors=example.tensors,
                options=example.options,
            )


if __name__ == "__main__":
    main()
