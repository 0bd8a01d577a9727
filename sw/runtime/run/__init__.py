"""Runs: devices, sessions from a file to a report, and comparisons of configurations."""
