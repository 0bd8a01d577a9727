"""Tensor index expressions as loop nests."""
