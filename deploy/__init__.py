"""Running Obelus: command line, supervisor, embedded parts."""
