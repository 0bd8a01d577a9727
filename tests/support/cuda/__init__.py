"""Kernels, GPUs without hardware, and embedding layers."""
