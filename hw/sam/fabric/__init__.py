"""A pool of blocks and a network, which programs configure."""
