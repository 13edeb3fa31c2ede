# [start:posts]
head -4 posts.csv
# [end:posts]

# [start:learn]
latentree learn posts.csv --events post,word -o topics.json --report topics.html
# [end:learn]

# [start:query]
latentree query topics.json --given rocket=1,moon=1 --of orbit,doctor,guitar
# [end:query]

# [start:infer]
latentree infer topics.json posts.csv --events post,word --map -o topics.csv
head -4 topics.csv
# [end:infer]
