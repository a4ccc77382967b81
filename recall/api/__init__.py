"""HTTP: bearer tokens fix the scope, errors are problem documents, a writing endpoint only produces the event."""
