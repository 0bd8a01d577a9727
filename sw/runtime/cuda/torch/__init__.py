"""Fused kernels as PyTorch modules and operators."""
