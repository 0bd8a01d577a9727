"""Layers that merge: their units' rows, fibers ahead, and the merger."""
