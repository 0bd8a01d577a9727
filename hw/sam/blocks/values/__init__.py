"""Blocks that compute values, and sums of them."""
