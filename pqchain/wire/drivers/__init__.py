"""What runs nodes: a modelled clock, a process per node, namespaces. A `job.Job` says what."""
