"""From what people have (graphs, circuits, matrices) to the compilers' input."""
