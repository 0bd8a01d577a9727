"""Graphs that ``torch.export`` makes of PyTorch modules."""
