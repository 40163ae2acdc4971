"""Communication between nodes: transports, modelled networks, and drivers that run nodes."""
