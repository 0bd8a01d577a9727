"""CUDA behind devices and reports: embedding models on GPUs, or emulated on the CPU."""
