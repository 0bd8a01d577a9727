"""The kernels of PolyBench/C 4.2 that have no descending loop, as nests and in C."""
