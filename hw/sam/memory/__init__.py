"""Where SAM's tensors lie: memories of the blocks' own, or one that they share."""
