"""Memories of SAM's tensors: memories of the blocks' own, or one that they share."""
