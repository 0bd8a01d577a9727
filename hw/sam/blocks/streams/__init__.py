"""Blocks that drop, repeat, regroup and deal out tokens."""
