"""Implementations of transports; the module `registry` lists them."""
