"""Fused kernels on the CPU, with every access checked."""
