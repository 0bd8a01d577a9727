"""PyTorch modules as Einsum programs."""
