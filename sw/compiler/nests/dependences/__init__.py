"""Finds accesses of an array that may touch the same word, and how many iterations apart."""
