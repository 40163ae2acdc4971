"""Sources of adapters in other languages, each folder with a lock file of its own.

They lie in the package so that an installed pqchain can build them; nothing here is imported.
"""
