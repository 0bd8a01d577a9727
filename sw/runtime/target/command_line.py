"""What targets add to the commands that all of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gnarl.sw.runtime.target.option import TargetOption

EXPRESSION_TENSORS = (
    "A tensor of an expression: .mtx, .ttx, .tns (.gz, .bz2), .npy, .npz of SciPy or of gnarl run, "
    ".npz:NAME, or a fibertree's FOLDER"
)
NEST_ARRAYS = "an array or scalar of a loop nest: .npy, .npz or .npz:NAME"


@dataclass(frozen=True)
class CommandLine:
    """A target as the help of commands shows it.

    workloads
        what WORKLOAD may be: ``an expression``. Help says ``For NAME,`` before it.
    options
        the target's own.
    shared
        options of all targets that have a meaning here, by their names, ``--tensor`` and others:
        texts that say it, which are empty where the option's help needs none.
    program_passes
        passes of ``gnarl opt`` that ``gnarl passes`` does not list, and what each does.
    """

    workloads: str = "a file"
    options: Sequence[TargetOption] = ()
    shared: Mapping[str, Sequence[str]] = field(default_factory=dict)
    program_passes: Mapping[str, str] = field(default_factory=dict)
