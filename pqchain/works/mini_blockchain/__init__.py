"""A mini blockchain benchmark."""
