"""SAM machines cycle by cycle: blocks that compute tokens as these move, and queues that fill."""
