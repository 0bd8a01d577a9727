"""The questions that ``bench.dpu`` answers, one module each."""
