"""Reed-Solomon chunks: the code, the files."""
