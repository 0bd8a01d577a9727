"""A bank: arrays in lockstep, and what gives them row operations."""
