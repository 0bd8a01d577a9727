"""Where the project's own files are, in a checkout as where it is installed: no other module of the
package says so. In a checkout the package has links to the repository's folders.
"""

from __future__ import annotations

from pathlib import Path

from gnarl.hw.lib.errors import GnarlError

PACKAGE = Path(__file__).absolute().parents[2]
"""The folder of the package ``gnarl``."""

CHECKOUT = PACKAGE.parent if (PACKAGE / "hw").is_symlink() else None
"""The repository, if the package is in one."""

HARDWARE = (PACKAGE / "hw").resolve()
SOFTWARE = (PACKAGE / "sw").resolve()

CONFIGURATIONS = (PACKAGE / "configs").resolve()
"""The configurations that have names."""

WAIVERS = HARDWARE / "lib" / "verilator.vlt"
"""The warnings that Amaranth's Verilog cannot avoid, each with its reason."""

SHIM_FOLDER = SOFTWARE / "runtime" / "machine" / "shim"
"""C++ around Verilated designs."""

INCLUDE = SOFTWARE / "compiler" / "cuda" / "include"
"""Headers of CUDA kernels."""

SIMT = SOFTWARE / "runtime" / "cuda" / "emulation" / "simt"
"""C++ that kernels are compiled with to run without a GPU."""


class MissingFilesError(GnarlError):
    """A folder has none of the files that it is there for."""


def files_in(folder: Path, pattern: str = "*") -> list[Path]:
    """The files of a folder and below, sorted. Raises ``MissingFilesError`` where there are none:
    digests of no sources would never change.
    """
    found = sorted(path for path in folder.rglob(pattern) if path.is_file())
    if not found:
        raise MissingFilesError(f"{folder}: has no files {pattern}: must be a folder of some")
    return found
