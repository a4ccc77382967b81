"""One eraser for each store; ``build`` in the purger puts them together in order."""
