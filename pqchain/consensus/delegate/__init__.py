"""PQ-DPoL as nodes that run: real blocks, real signatures, every byte of every message."""
