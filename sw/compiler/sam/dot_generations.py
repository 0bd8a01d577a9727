"""What the generations of the SAM tools do differently, made one.

Sparse accumulators that take points (coordinates held by ``crdhold``) become those that take
streams; so do those that take the innermost coordinates alone. Reductions that the tools left in
front of accumulators go. So do drops of coordinates by
what is summed later: they suppose reductions that drop empty fibers, where these give 0.
"""

from __future__ import annotations

from collections.abc import Collection

from gnarl.sw.compiler.sam.dot_netlist import Netlist, Node, Wire
from gnarl.sw.compiler.sam.dot_write import JOINERS


def modernise(netlist: Netlist) -> None:
    """Changes the netlist to one whose nodes mean what the blocks of that name do."""
    for node in list(netlist.nodes.values()):
        if node.type == "repsiggen":
            node.inputs["crd"] = _coordinates(netlist, netlist.wire(node, "crd"))
    for node in list(netlist.nodes.values()):
        if node.type == "spaccumulator":
            _take_streams(netlist, node)
    for node in list(netlist.nodes.values()):
        if node.type == "crddrop" and node.values.get("inner") not in (
            *netlist.result_indices,
            "vals",
        ):
            _bypass_drop(netlist, node)
    for node in netlist.nodes.values():
        if node.type == "spaccumulator":
            _bypass_reduction(netlist, node)


def _take_streams(netlist: Netlist, node: Node) -> None:
    order = node.values.get("order", "1")
    if order not in ("1", "2"):
        netlist.refuse(node, f": order {order} must be 1 or 2")
    count = int(order)
    crds = {
        port.removeprefix("in "): _unheld(netlist, wire)
        for port, wire in node.inputs.items()
        if port.startswith("in ")
    }
    named = [node.values[key] for place in range(9) if (key := f"in{place}") in node.values]
    if count == len(crds) == len(named) == 1 and named[0] in crds:
        crds[""] = _coordinates_around(netlist, crds[named[0]])
    summed = _summed_index(netlist, node, count, crds, named)
    inputs = {f"crd{place}": crds[index] for place, index in enumerate(named[:count])}
    node.inputs = {**inputs, f"crd{count}": crds[summed], "val": netlist.wire(node, "val")}
    ports = {f"in {index}": f"crd{place}" for place, index in enumerate([*named[:count], summed])}
    node.depths = {ports.get(port, port): depth for port, depth in node.depths.items()}
    for place, index in enumerate(named[:count]):
        netlist.replace((node.name, f"out {index}"), (node.name, f"out_crd{place}"))
    for index in named[count:]:
        if index == summed:
            continue
        # Points bring the coordinates around the sums through the accumulator; here they go
        # beside it, without those that have no sum.
        drop = Node(
            f"{node.name}_{index}",
            "crddrop",
            {"outer": index, "inner": named[count - 1]},
            node.line,
            {"outer": crds[index], "inner": (node.name, f"out_crd{count - 1}")},
        )
        netlist.nodes[drop.name] = drop
        netlist.replace((node.name, f"out {index}"), (drop.name, "out_outer"))


def _summed_index(
    netlist: Netlist, node: Node, count: int, crds: Collection[str], named: list[str]
) -> str:
    """The index that an accumulator sums, of those that edges bring and those that it names."""
    summed = [index for index in crds if index not in named] or named[count:]
    missing = [index for index in named if index not in crds]
    if len(named) < count or len(summed) != 1 or summed[0] not in crds or missing:
        netlist.refuse(
            node,
            f": edges bring the coordinates of {', '.join(crds) or 'nothing'}; must be those of "
            f"{', '.join(named) or 'in0'} and of the one index that is summed",
        )
    return summed[0]


def _coordinates_around(netlist: Netlist, wire: Wire) -> Wire:
    """The coordinates each of which has a fiber of those on a wire."""
    node = netlist.nodes[_unheld(netlist, wire)[0]]
    while node.type in JOINERS:
        node = netlist.nodes[netlist.wire(node, "crd0")[0]]
    if node.type != "fiberlookup":
        netlist.refuse(node, ": has no fibers: an accumulator needs an edge of what it sums")
    return _coordinates(netlist, netlist.wire(node, "ref"))


def _coordinates(netlist: Netlist, wire: Wire) -> Wire:
    """The coordinates beside references, on a wire of either."""
    node = netlist.nodes[wire[0]]
    if node.type == "repeat":
        signals = netlist.nodes[netlist.wire(node, "repsig")[0]]
        return _coordinates(netlist, netlist.wire(signals, "crd"))
    if node.type == "locate":
        return netlist.wire(node, "crd")
    if wire[1].startswith("out_ref") and node.type in (*JOINERS, "fiberlookup"):
        return node.name, "out_crd"
    return wire


def _unheld(netlist: Netlist, wire: Wire) -> Wire:
    """A coordinate stream before it was held for the points of an accumulator."""
    seen = set()
    while (node := netlist.nodes[wire[0]]).type == "crdhold":
        if wire in seen:
            netlist.refuse(node, " feeds itself")
        seen.add(wire)
        wire = netlist.wire(node, wire[1].removeprefix("out_"))
    return wire


def _bypass_drop(netlist: Netlist, node: Node) -> None:
    for port, wire in node.inputs.items():
        netlist.replace((node.name, f"out_{port}"), wire)
    del netlist.nodes[node.name]


def _bypass_reduction(netlist: Netlist, node: Node) -> None:
    source = netlist.nodes[node.inputs["val"][0]]
    if source.type != "reduce":
        return
    value = netlist.wire(source, "val")
    if _depth(netlist, value) == _depth(netlist, node.inputs["crd0"]):
        node.inputs["val"] = value


def _depth(netlist: Netlist, wire: Wire, seen: tuple[Wire, ...] = ()) -> int:
    """Loops around a stream."""
    node = netlist.nodes[wire[0]]
    if wire in seen:
        netlist.refuse(node, " feeds itself")
    seen = (*seen, wire)
    match node.type:
        case "spaccumulator":
            place = int(wire[1][-1]) if wire[1].startswith("out_crd") else 0
            return _depth(netlist, node.inputs["crd0"], seen) - 1 - place
        case "repeat":
            return _depth(netlist, netlist.wire(node, "repsig"), seen)
        case "crddrop" | "crdhold":
            return _depth(netlist, netlist.wire(node, wire[1].removeprefix("out_")), seen)
    outer = _depth(netlist, next(iter(node.inputs.values())), seen) if node.inputs else 0
    return outer + {"fiberlookup": 1, "reduce": -1}.get(node.type, 0)
