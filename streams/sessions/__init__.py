"""Session windows (S1): the last ten turns of every conversation, kept in Redis by a Faust app.

Everything here may be lost and is made again: from the log by position, from the event log by conversation.
"""
