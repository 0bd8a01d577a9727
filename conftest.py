"""Settings of all tests, cocotb's included."""

from __future__ import annotations

import os

pytest_plugins = ["tests.support.processor_time"]

os.environ.setdefault("GNARL_QUICK_BUILDS", "1")
