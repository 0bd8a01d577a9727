"""Fusion: which statements share a graph, in which order of loops."""
