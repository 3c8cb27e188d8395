"""The service: takes in each post exactly once, raises alerts with reasons, and has them reviewed.

`runner.Service` is what the HTTP routes, the sources and the board use. Below it, `intake` reads
posts in one transaction per group of batches, `store` keeps everything in SQLite or PostgreSQL,
and `lessons` teaches the model marked texts, and can undo it.
"""
