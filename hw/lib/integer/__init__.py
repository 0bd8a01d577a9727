"""Datapaths of whole and fixed-point numbers, and of their bits."""
