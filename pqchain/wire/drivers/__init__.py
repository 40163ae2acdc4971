"""Drivers that run the nodes of a `job.Job` on a modelled clock, in processes or in namespaces."""
