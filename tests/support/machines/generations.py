"""Verilog as several processes generate it."""

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
print(to_verilog(target.executor.generator.build(config), sys.argv[1]))
"""


def under_hash_seeds(config: TargetConfig, *seeds: int) -> list[str]:
    """The Verilog of ``config``, of a module called as its target, once with each hash seed."""
    command = [sys.executable, "-c", _CODE, config.target, json.dumps(config.to_dict())]
    return [
        subprocess.run(
            command,
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in seeds
    ]
