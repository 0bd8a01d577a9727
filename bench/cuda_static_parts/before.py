"""What was measured at earlier commits: by ``loads``, before kernels kept the rows of a round in
flight together, and by ``instructions``."""

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

INSTRUCTIONS_COMMIT = "a528651d25df2773fa5b178b6375659bc8f54750"

_INSTRUCTION_METRICS = (
    *("executed", "one_sample", "rows_share", "least_round", "most_round", "useful"),
    *("first_waits", "later_waits", "text_kb", "path_kb", "one_hot_kb", "one_hot_useful_kb"),
    *("multi_hot_kb", "multi_hot_useful_kb", "spill_bytes", "compile_s"),
)
_INSTRUCTIONS = {
    "A": (
        *(85732478, 1094695, 60.1, 102.0, 177.0, 78.3, 4, 4),
        *(141.2, 6.8, 33.3, 33.3, 68.0, 63.1, 24, 3.5),
    ),
    "B": (
        *(27993068, 745401, 47.1, 103.0, 177.0, 67.1, 3, 3),
        *(75.4, 6.5, 37.9, 37.9, 65.4, 52.9, 0, 1.24),
    ),
    "C": (
        *(60042788, 630206, 61.8, 83.1, 177.0, 64.5, 3, 3),
        *(82.2, 6.3, None, None, 67.9, 52.6, 0, 1.82),
    ),
    "D": (
        *(32283626, 652041, 58.1, 101.0, 143.0, 56.1, 4, 4),
        *(35.3, 5.3, 41.0, 41.0, 62.6, 42.1, 0, 0.82),
    ),
    "E": (
        *(65191263, 666324, 58.9, 107.5, 116.2, 80.6, 4, 4),
        *(38.5, 4.9, 41.0, 41.0, 68.5, 65.6, 0, 0.73),
    ),
}

INSTRUCTIONS = {
    model: dict(zip(_INSTRUCTION_METRICS, values, strict=True))
    for model, values in _INSTRUCTIONS.items()
}
"""What ``instructions`` measured at ``INSTRUCTIONS_COMMIT``, whose blocks took tasks from queues:
values by metric, for each model."""
