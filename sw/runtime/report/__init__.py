"""What a run reports: outputs beside the golden model's, figures, pictures and files."""
