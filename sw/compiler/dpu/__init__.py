"""The DPU's compiler: from DAGs to programs. Source: DPU-v2, section IV."""
