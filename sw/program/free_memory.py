"""How much memory there is for more."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from gnarl.hw.lib.text_lines import text_lines, words_of

_CGROUP = Path("/sys/fs/cgroup")
_MEMINFO = Path("/proc/meminfo")
_STATM = Path("/proc/self/statm")


def free_bytes() -> int:
    """Bytes that this process may still take: the least of what the machine has, what its control
    group allows, and what the limit of its address space leaves."""
    return min(_of_machine(), _of_group(), _of_address_space())


def _of_machine() -> int:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        lines = text_lines(_MEMINFO.read_text())
    except OSError:  # not Linux
        return pages
    sizes = dict(line.split(":", 1) for line in lines)
    return int(words_of(sizes["MemAvailable"])[0]) << 10 if "MemAvailable" in sizes else pages


def _of_group() -> int:
    """What the control group leaves, if it limits: files that it has read are given up."""
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
        lines = text_lines((_CGROUP / "memory.stat").read_text())
    except (OSError, ValueError):  # none, or no limit
        return 1 << 62
    return max(0, limit - used + int(dict(map(words_of, lines)).get("inactive_file", 0)))


def _of_address_space() -> int:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY or not _STATM.exists():
        return 1 << 62
    return max(0, limit - int(words_of(_STATM.read_text())[0]) * os.sysconf("SC_PAGE_SIZE"))
