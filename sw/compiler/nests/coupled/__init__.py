"""Whole programs on an execute unit alone."""
