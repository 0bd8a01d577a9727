"""Machines: the host port, and the simulators and boards behind it."""
