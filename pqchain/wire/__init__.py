"""How nodes talk: transports, and what drives a node."""
