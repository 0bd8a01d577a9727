"""What programs cost in cycles, without running them."""
