"""Re-encoding of erasure-coded blocks by the remaining nodes after a node failure."""
