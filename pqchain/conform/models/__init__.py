"""The specifications as programs: slow, written to be read, independent of the C under test."""
