"""What tests of the CUDA benchmark share: a small model, and records as it has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.cuda_parts.measure import METRICS, MODEL_METRICS, VARYING
from bench.lib.records import Metric, Record, Setting, records
from gnarl.sw.runtime.cuda.gpu.gpus import GpuInfo

GPU = GpuInfo("NVIDIA H200", "sm_90", 132, 2**37, 50 << 20)
SETTING = Setting("cuda_sm90", (), "d", 0, 3)


def write_model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "table_config.txt").write_text("50,4\n60,8\n30,16\n40,4\n20,8\n")
    (folder / "data_config.txt").write_text("one-hot,2,1.0\nmulti-hot,3,5,3,10,0.8\n")
    return folder


def model_records(bench: str, model: str, share: float = 1.0, sizes: str = VARYING) -> list[Record]:
    """Records of a model with a ``share`` of multi-hot features."""
    labels = {"model": model, "sizes": sizes, "schedules": "tuned"}
    values: dict[str, Any] = dict.fromkeys(MODEL_METRICS, 2.0)
    values |= {"batches": 3, "samples": 700, "multi_hot_share": share}
    return records(f"{bench}.models", labels, values, MODEL_METRICS, SETTING)


def kernel_records(
    bench: str,
    model: str,
    kernel: str,
    speedup: float,
    sizes: str = VARYING,
    **values: Any,
) -> list[Record]:
    """Records of a contender that takes ``speedup`` times 2.5 ms; ``values`` are other figures."""
    found: dict[str, Any] = {
        "kernel_ms": 2.5 * speedup,
        "speedup": speedup,
        "of_bound": 0.5,
        "mapping_share": 0.01,
        "bit_exact": True,
    }
    labels = {"model": model, "sizes": sizes, "kernel": kernel}
    metrics: dict[str, Metric] = METRICS
    return records(bench, labels, found | values, metrics, SETTING)
