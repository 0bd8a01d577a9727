"""The access unit's side of a program: streams, layers, queues and tokens."""
