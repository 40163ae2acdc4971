"""The report: all works in one run, one folder and one page."""
