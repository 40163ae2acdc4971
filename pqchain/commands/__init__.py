"""What `pqchain COMMAND` does: a module for each command."""
