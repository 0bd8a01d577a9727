"""What is measured, and the records and pictures of it: a command for each module."""
