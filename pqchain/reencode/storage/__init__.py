"""Reed-Solomon chunks: the field, the code, the files."""
