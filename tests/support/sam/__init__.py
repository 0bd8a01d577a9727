"""Streams, blocks, graphs and expressions of SAM."""
