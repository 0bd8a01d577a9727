"""Compilers, golden models and the runtime; only the table of targets knows RTL generators."""
