"""Expressions of tensors on a GPU, or on its emulation."""
