"""Expressions of tensors: which of them are kernels of this compiler, and what these take."""
