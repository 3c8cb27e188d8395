"""The service: posts in, exactly once; alerts out, with their reasons; people who decide.

`runner.Service` is what the HTTP routes, the sources and the board use. Below it, `intake` reads
posts in one transaction per group of batches, `store` keeps everything in SQLite or PostgreSQL,
and `lessons` teaches the model what people marked, with a way back.
"""
