import watchword as ww

subjects = ww.make_risk_streams(200, seed=0)  # synthetic subjects with known labels
model = ww.TauSS3()
ww.teach(model, subjects[:100])

policy = ww.Overtakes("at risk", margin=0.05)
story = model.story(subjects[117], policy)
post = story.decision.delay
print(f"{story.decision.label} after {post} of {len(story.posts)} posts:")
print(story.posts[post - 1].post.text)
for ngram in story.tipping(2).ngrams_for:
    print(f"{ngram.difference:+.2f} {ngram.ngram}")
print(ww.replay(subjects[100:], model, policy))
