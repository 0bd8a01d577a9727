"""Embedding models, their tables and batches, and files of them."""
