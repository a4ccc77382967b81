"""The only code that talks to PostgreSQL, Qdrant, Redis, the vault and embedding models."""
