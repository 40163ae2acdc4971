"""How nodes talk: transports, links, clocks and drivers that run any `session.Node`."""
