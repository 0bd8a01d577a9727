"""Sparse tensors, their formats and files, and expressions over them."""
