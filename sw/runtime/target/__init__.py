"""Targets: what each of them is, where they are listed, and their configurations."""
