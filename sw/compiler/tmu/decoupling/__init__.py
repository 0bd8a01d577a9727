"""What becomes of a loop's parts where it is decoupled: streams and callbacks."""
