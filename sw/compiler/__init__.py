"""Compilers: from workloads to programs."""
