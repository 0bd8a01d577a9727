"""Running compiled embedding models on GPUs, or on the CPU in their stead."""
