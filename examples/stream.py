import watchword as ww

people = ww.make_risk_streams(200, seed=0)  # made up, and the truth is known
model = ww.TauSS3()
ww.teach(model, people[:100])
policy = ww.Overtakes("at risk", margin=0.05)

reader = model.reader(policy)
for post in people[100].posts:
    if decision := reader.read(post):
        print(f"{decision.label} after {decision.delay} of {len(people[100].posts)} posts")
        break

print(ww.replay(people[100:], model, policy))
