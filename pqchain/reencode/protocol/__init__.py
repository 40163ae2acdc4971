"""The re-encoding protocol as a sans-I/O state machine: no sockets, threads or clock."""
