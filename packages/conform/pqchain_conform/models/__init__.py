"""Executable models of the specifications: slow, readable, independent of the tested C code."""
