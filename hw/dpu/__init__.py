"""DPU: trees of processing elements over a banked register file, for irregular DAGs."""
