"""The only code that talks to PostgreSQL, Qdrant, Redis, the vault and embedding models."""

import os

# Read when numpy is first imported. Its matrices are small here and every consumer is a process of its own: threads
# that wait for each other on busy cores made turning a vector seven times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
