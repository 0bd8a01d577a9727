"""Targets, machines, runs and their reports."""
