"""The access unit: traversal, loads, and what goes into the queues."""
