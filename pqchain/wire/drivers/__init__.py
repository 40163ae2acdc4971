"""What runs nodes: a modelled clock, sockets, namespaces."""
