"""Rows from tile to tile, within banks and between them."""
