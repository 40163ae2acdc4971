"""Erasure-coded blocks on many nodes: a node fails, the others gather, decode and re-encode."""
