"""Source code of verifier adapters in other languages; each folder has a lock file.

The package contains the sources, so that an installed pqchain can build the adapters.
"""
