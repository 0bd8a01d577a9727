"""What people have: files, and what they mean."""
