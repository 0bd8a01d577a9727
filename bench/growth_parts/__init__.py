"""Parts of ``bench.growth``."""
