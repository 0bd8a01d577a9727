"""Dialects of the compiler's levels, beside MLIR's own."""
