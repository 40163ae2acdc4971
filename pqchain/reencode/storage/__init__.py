"""Reed-Solomon code and chunk files."""
