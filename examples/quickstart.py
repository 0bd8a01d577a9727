"""A graph of four nodes, compiled for the smallest DPU and run on its simulated RTL."""

import networkx as nx

from gnarl import Device

graph = nx.DiGraph()
graph.add_node("a", op="input")
graph.add_node("b", op="input")
graph.add_node("half", op="const", value=0.5)
graph.add_node("area", op="mul")  # of the triangle with sides a and b at a right angle
graph.add_edges_from([("half", "area"), ("a", "area"), ("b", "area")])

with Device("dpu_d1_b8") as device:
    program = device.compile(graph)
    for a, b in [(3, 4), (5, 12)]:
        result = device.run(program, {"a": a, "b": b})
        print(f"area = {result.scalars()['area']} in {result.cycles} cycles")
