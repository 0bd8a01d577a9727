"""PyTorch modules as loop nests."""
