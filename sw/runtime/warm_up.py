"""Compiles inner loops into numba's cache, so that the first workload need not wait.

Run once after installation: ``python -m sw.runtime.warm_up``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hw.lib.errors import GnarlError
from sw.runtime.configuration import NamedConfiguration, load_configuration
from sw.runtime.session import run_once
from sw.runtime.target import Target
from sw.targets import loaded


def main() -> None:
    """Compiles and runs an example of each target on its last backend, which builds no RTL."""
    for target in loaded().values():
        try:
            _warm_up(target)
        except GnarlError as error:  # a part that is not installed, which others do without
            print(f"{target.name}: {error}", file=sys.stderr)


def _warm_up(target: Target[Any, Any, Any]) -> None:
    with TemporaryDirectory() as folder:
        for example in target.examples(Path(folder))[:1]:
            run_once(
                _configuration(target),
                example.source,
                backend=target.backends[-1],
                tensors=example.tensors,
                options=example.options,
            )


def _configuration(target: Target[Any, Any, Any]) -> NamedConfiguration:
    if target.demo:
        return load_configuration(target.demo)
    return NamedConfiguration(target.name, "", target, target.configuration(), {})


if __name__ == "__main__":
    main()
