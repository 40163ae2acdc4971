"""Ways to carry sessions; `registry` has a row for each."""
