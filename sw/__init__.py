"""Compilers, golden models and the runtime. Nothing here imports RTL generators but the targets table."""
