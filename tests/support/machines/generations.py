"""Verilog as another process generates it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from gnarl.hw.lib.configuration import TargetConfig

_CODE = """
import json, sys
from gnarl.sw.runtime.target.registry import TARGETS
from gnarl.hw.lib.verilog import to_verilog
target = TARGETS[sys.argv[1]]
config = target.configuration.from_dict(json.loads(sys.argv[2]))
sys.stdout.write(to_verilog(target.executor.generator.build(config), sys.argv[1]))
"""


def under_another_hash_seed(config: TargetConfig) -> str:
    """The Verilog of ``config``, of a module called as its target, from a process whose hash seed
    is not this one's."""
    command = [sys.executable, "-c", _CODE, config.target, json.dumps(config.to_dict())]
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout
