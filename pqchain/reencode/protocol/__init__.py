"""What a node of a re-encoding does, without sockets, threads or clock."""
