"""Source code of the adapters in Go and Rust; each folder has a lock file.

The package contains the sources, so that an installed pqchain can build the engines.
"""
