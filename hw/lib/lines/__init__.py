"""Memories of lines, with latency and bandwidth, and caches in front of them."""
