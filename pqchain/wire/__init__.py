"""Node communication: transports, links, clocks and drivers that run any `node.Node`."""
