"""Outside owners: what they made is registered, ordered to be erased, and believed gone on their signed word alone."""
