"""The execute unit: instructions in order, with what the access unit has put into its queues."""
