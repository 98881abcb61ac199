"""What a test leaves changed in its process."""
