import watchword as ww
from watchword.show.terminal import strongest_ngrams

posts = {
    "I cannot sleep, so I work. Woke up drained again.": "at risk",
    "Drained. I cannot sleep, and I do not tell anyone.": "at risk",
    "I cannot work today, so I sleep. We watched a film.": "control",
    "The garden is lovely, and we sleep well. No work today.": "control",
}
model = ww.TauSS3(prior=0)  # so few posts: once must be enough
model.learn_many(posts.keys(), posts.values())

new = "The garden can wait. I cannot sleep, I feel so drained!"
print(model.predict_one(new))
print({label: round(value, 3) for label, value in model.confidence_one(new).items()})
for ngram, value, count in strongest_ngrams(model.explain(new), "at risk", 3):
    print(f"{value:.3f}  {ngram}  (count {count})")
