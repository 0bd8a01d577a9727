"""Compiles loop nests to commands of in-SRAM computing."""
