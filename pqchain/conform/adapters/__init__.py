"""Sources of adapters in other languages, each folder with its own lock file.

They are part of the package so that an installed pqchain can build them. Nothing is imported.
"""
