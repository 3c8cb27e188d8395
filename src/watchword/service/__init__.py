"""The service: takes in each post exactly once, raises alerts with reasons, and has them reviewed.

`runner.Service` is what the HTTP routes, the sources and the board use. Its modules:

- Taking in posts, in one transaction per group of batches: `sources` (with `following`, `rotation`
  and `redis_source`), `intake`, `writer`, `rows`, `replays`.
- Keeping everything in SQLite or PostgreSQL: `store`, `sqlite_store`, `postgres_store`,
  `stored_posts`, `subjects`, `alerts`. `versions` switches models, `lessons` teaches them marked
  texts and can undo it, `forgetting` removes texts and subjects, `upkeep` does what is due.
- Answering requests: `operations` (the table of all), `routes`, `bodies`, `records`, `choices`,
  `tokens`, `events`, `metrics`, `readiness`, `openapi`. `webhooks` sends alerts.
- Running: `serving`, `workers`, `logs`. `board` with `static/` is the page, and `client` lets
  commands ask a running service.
"""
