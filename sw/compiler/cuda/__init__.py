"""Compiler of embedding layers to fused CUDA kernels. Source: RecFlex, sections III and IV."""
