"""The command line: reads wishes, wires rooms, engine, store and report together, and nothing else."""
