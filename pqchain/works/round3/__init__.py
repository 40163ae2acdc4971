"""Published work that compares the speed of candidates of NIST's third round."""
