"""Blocks that write levels and values of results."""
