"""Files of the DPU's workloads, and how commands refuse them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.commands import refusal

CONFIG = "dpu_d1_b8"

INPUT = {"id": "a", "op": "input"}

PRODUCT_NODES = [
    {**INPUT, "value": 1.5},
    {"id": "b", "op": "input", "value": 2.0},
    {"id": "y", "op": "mul"},
]
PRODUCT_EDGES = [("a", "y"), ("b", "y")]

HEADER = "%%MatrixMarket matrix coordinate real general\n"


def refused_file(folder: Path, name: str, content: str | bytes) -> str:
    """How ``compile`` and ``run`` refuse a workload; without the file's name, which comes first."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = refusal(folder, "compile", CONFIG, path, "-o", folder / "out.npz")
    assert line == refusal(folder, "run", CONFIG, path, "--backend", "model")
    assert line.startswith(f"gnarl: {path}")
    return line.removeprefix(f"gnarl: {path}")


def node_link(nodes: list[Any], *edges: tuple[Any, Any], **extra: Any) -> str:
    links = [{"source": source, "target": target} for source, target in edges]
    return json.dumps({"directed": True, "nodes": nodes, "edges": links, **extra})


def graphml(body: str, edgedefault: str = "directed") -> str:
    return (
        '<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        '<key id="o" for="node" attr.name="op" attr.type="string"/>'
        '<key id="v" for="node" attr.name="value" attr.type="double"/>'
        f'<graph edgedefault="{edgedefault}">{body}</graph></graphml>'
    )


def xml_node(name: str, op: str, value: str = "") -> str:
    data = f'<data key="v">{value}</data>' if value else ""
    return f'<node id="{name}"><data key="o">{op}</data>{data}</node>'


def product(folder: Path) -> Path:
    """A file of the DAG y = a * b, whose inputs have values."""
    path = folder / "product.json"
    path.write_text(node_link(PRODUCT_NODES, *PRODUCT_EDGES))
    return path
