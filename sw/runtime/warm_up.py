"""Compiles inner loops into numba's cache, so that the first workload need not wait.

Run once after installation: ``python -m sw.runtime.warm_up``.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from sw.runtime.configuration import load_configuration
from sw.runtime.session import run_once
from sw.targets import loaded


def main() -> None:
    """Compiles and runs an example of each target on its last backend, which builds no RTL."""
    for target in loaded().values():
        if target.demo:
            with TemporaryDirectory() as folder:
                example = target.examples(Path(folder))[0]
                run_once(
                    load_configuration(target.demo),
                    example.source,
                    backend=target.backends[-1],
                    tensors=example.tensors,
                )


if __name__ == "__main__":
    main()
