"""NumPy golden models: what a workload means, without any hardware in sight."""
