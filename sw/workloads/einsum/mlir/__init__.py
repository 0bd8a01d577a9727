"""Einsum programs as MLIR: ``linalg.generic`` on tensors with encodings."""
