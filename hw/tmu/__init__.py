"""The TMU: an access unit that traverses and loads, and an execute unit that computes."""
