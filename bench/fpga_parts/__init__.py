"""Parts of ``bench.fpga``."""
