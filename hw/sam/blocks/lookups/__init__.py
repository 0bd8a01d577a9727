"""Blocks that read levels and values of tensors."""
