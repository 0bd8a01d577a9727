"""SAM: sparse tensor dataflow hardware."""
