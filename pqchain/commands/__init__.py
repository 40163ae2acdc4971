"""Commands of `pqchain`, one module each."""
