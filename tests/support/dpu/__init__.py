"""DAGs, and programs of the DPU."""
