"""Transports between nodes."""
