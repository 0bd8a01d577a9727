"""Parts of ``bench.cuda_schedule``."""
