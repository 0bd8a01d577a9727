"""Blocks that intersect and unite coordinates."""
