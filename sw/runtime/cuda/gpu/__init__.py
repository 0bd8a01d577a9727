"""Fused kernels on GPUs."""
