"""Dialects of loop nests on the way to vectors and instructions, beside MLIR's own."""
