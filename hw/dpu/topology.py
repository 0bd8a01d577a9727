"""How PEs, tree inputs and register banks are wired. Source: DPU-v2, section III.C and figure 6.

PEs are numbered tree by tree, within a tree layer by layer from the inputs up, within a layer from
left to right. Layer 1 takes the tree's inputs; PE ``k`` of layer ``l`` takes PEs ``2k`` and
``2k + 1`` of layer ``l - 1``.
"""

from __future__ import annotations

from dataclasses import dataclass

from gnarl.hw.dpu.config import DpuConfig


@dataclass(frozen=True)
class Pe:
    """One PE: its tree, its layer (1 to depth) and its place in that layer, from the left."""

    tree: int
    layer: int
    place: int


def pe_list(config: DpuConfig) -> list[Pe]:
    """All PEs in order of their number."""
    return [
        Pe(tree, layer, place)
        for tree in range(config.trees)
        for layer in range(1, config.depth + 1)
        for place in range(1 << (config.depth - layer))
    ]


def pe_number(config: DpuConfig, tree: int, layer: int, place: int) -> int:
    """Number of a PE; inverse of ``pe_list``."""
    before = (1 << config.depth) - (1 << (config.depth - layer + 1))
    return tree * config.pes_per_tree + before + place


def writers(config: DpuConfig, bank: int) -> list[int]:
    """Numbers of the PEs whose output can be written to ``bank``, lowest layer first.

    ``layered``: in each layer, the PE above tree input ``bank``. ``single``: the PEs of a tree in
    order from left to right go to banks 1 to 2**depth - 1; bank 0 of a tree shares the top PE.
    """
    depth = config.depth
    tree, lane = bank >> depth, bank & (config.tree_inputs - 1)
    if config.output_interconnect == "crossbar":
        return [
            pe_number(config, pe.tree, pe.layer, pe.place)
            for pe in sorted(pe_list(config), key=lambda pe: (pe.layer, pe.tree, pe.place))
        ]
    if config.output_interconnect == "layered":
        return [pe_number(config, tree, layer, lane >> layer) for layer in range(1, depth + 1)]
    if lane == 0:
        return [pe_number(config, tree, depth, 0)]
    layer = (lane & -lane).bit_length()
    return [pe_number(config, tree, layer, lane >> layer)]
