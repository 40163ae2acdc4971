"""Transports; `registry` has a row for each."""
