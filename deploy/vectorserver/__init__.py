"""A loopback server around Qdrant's own engine that answers the calls we make of its REST API.

The engine directory takes one process, and every consumer of ours is one. So the engine sits
behind the same interface as a real server, and `qdrant-client` over the network is the only
adapter. What is not answered is refused with 501 and the name of the call.
"""
