"""Memories of lines: a main memory, and what goes to and from it."""
