"""The DPU behind devices and reports."""
