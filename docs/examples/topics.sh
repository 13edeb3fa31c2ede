# --8<-- [start:posts]
head -4 posts.csv
# --8<-- [end:posts]

# --8<-- [start:learn]
latentree learn posts.csv --events post,word -o topics.json --report topics.html
# --8<-- [end:learn]

# --8<-- [start:query]
latentree query topics.json --given rocket=1,moon=1 --of orbit,doctor,guitar
# --8<-- [end:query]

# --8<-- [start:infer]
latentree infer topics.json posts.csv --events post,word --map -o topics.csv
head -4 topics.csv
# --8<-- [end:infer]
