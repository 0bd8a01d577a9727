"""Simulators, ports, boards and tools of hardware."""
