"""The log: codec, producer, topics, offsets, metrics of the processes that read it."""
