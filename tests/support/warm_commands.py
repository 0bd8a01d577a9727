"""Commands that a fork server has run, so that children find what they import and compile."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from pathlib import Path
from unittest import mock

_DAG = """{"directed": true, "edges": [{"source": "a", "target": "y"}],
"nodes": [{"id": "a", "op": "input", "value": 1.5}, {"id": "y", "op": "neg"}]}"""

_COMMANDS = (
    ("run", "dpu_d1_b8", "dag.json", "--backend", "model", "--timeline", "timeline.png"),
    ("compile", "sam_fp32", "x(i)=B(i,j)*c(j)", "-o", "program.npz", "--dot", "graph.gv"),
    ("disasm", "program.npz"),
    ("passes", "dpu_d1_b8"),
)


def warm_up() -> None:
    from gnarl.hw.dpu import top  # noqa: F401
    from gnarl.sw.commands.main import main
    from gnarl.sw.runtime.machine import tools  # noqa: F401
    from gnarl.sw.runtime.target import verilog  # noqa: F401

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("dag.json").write_text(_DAG)
        with mock.patch.object(sys, "stdout", io.StringIO()):
            for command in _COMMANDS:
                with contextlib.suppress(SystemExit):
                    main(command, prog_name="gnarl")
        assert Path("timeline.png").exists() and Path("program.npz").exists()
