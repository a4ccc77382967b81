"""The read side: search, ranking, context pack, HTTP API. The index proposes, PostgreSQL decides."""
