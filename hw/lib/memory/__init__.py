"""Memories of words: plain ones, those that a reset clears, and those that the host shares."""
