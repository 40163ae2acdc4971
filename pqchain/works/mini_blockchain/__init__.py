"""Published work on a mini blockchain benchmark."""
