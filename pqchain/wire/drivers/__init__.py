"""Drivers that run the nodes of a `job.Job`: modelled clock, one process per node, namespaces."""
