"""A speed comparison of the candidates of NIST's third round."""
