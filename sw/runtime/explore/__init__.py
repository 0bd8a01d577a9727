"""Sweeps: one workload on every point of a space of configurations."""
