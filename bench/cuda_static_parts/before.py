"""What ``loads`` measured before kernels kept the rows of a round in flight together."""

from __future__ import annotations

COMMIT = "170d92aec9cd19c0f713f2764866418faef6c7df"

_METRICS = (
    *("codes", "split_codes", "in_flight", "predicated"),
    *("before_first", "waits", "registers", "spill_bytes"),
    *("shared_bytes", "uniform_shared_bytes", "loaded_bytes"),
)
_VALUES = {
    "A/sm_80": (26, 20, 4.8, 100.0, 127.2, 4, 80, 0, 1536, 16, 78052848),
    "A/sm_90": (26, 22, 4.5, 100.0, 122.3, 4, 80, 0, 1536, 16, 78041584),
    "B/sm_80": (16, 12, 3.6, 100.0, 122.6, 4, 80, 0, 1040, 17537, 31237408),
    "B/sm_90": (16, 12, 3.6, 100.0, 121.7, 4, 80, 0, 1040, 16, 31237408),
    "C/sm_80": (14, 14, 5.4, 100.0, 122.8, 4, 80, 0, 1040, 16, 48898280),
    "C/sm_90": (15, 8, 4.7, 100.0, 131.5, 4, 64, 36, 1536, 16, 63368968),
    "D/sm_80": (6, 3, 3.3, 100.0, 125.5, 4, 64, 16, 16, 17537, 36001872),
    "D/sm_90": (5, 2, 3.6, 100.0, 124.0, 4, 64, 16, 16, 24833, 36001872),
    "E/sm_80": (4, 3, 5.0, 100.0, 99.2, 4, 80, 0, 16, 17537, 65221800),
    "E/sm_90": (4, 3, 5.0, 100.0, 98.2, 4, 78, 0, 16, 24833, 68191400),
}

BEFORE = {name: dict(zip(_METRICS, values, strict=True)) for name, values in _VALUES.items()}
"""Values by metric, for ``MODEL/ARCHITECTURE``."""

INSTRUCTIONS: dict[str, dict[str, float]] = {}
