"""How nodes talk: transports, links, clocks and drivers that run any `node.Node`."""
