"""Two releases side by side: `compare` is the door."""
