"""Whole programs on the execute unit alone: what decoupled ones are compared with."""
