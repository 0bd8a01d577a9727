"""Damaged input of every format, from a seed, and what the commands do with it.

``python -m tests.fuzz --seed SEED --case NUMBER`` repeats a case that a test has found.
"""
