"""Bit-serial computing in SRAM arrays: operands lie transposed, a bitline computes for itself."""
