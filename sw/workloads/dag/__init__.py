"""DAGs: the workload types of the DPU, readers, generators."""
