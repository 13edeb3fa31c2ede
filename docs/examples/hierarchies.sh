# [start:cluster]
latentree simulate --shape star --observed 40 --family categorical --states 2 --hidden-states 4 --separation 0.8 --model truth4.json --data rows4.csv --rows 2000 --quiet
latentree cluster rows4.csv --leaves 4 --em -o tree.json --labels leaves.csv
# [end:cluster]

# [start:infer]
latentree infer tree.json rows4.csv -o again.csv
head -3 again.csv
# [end:infer]

# [start:export]
latentree export tree.json --format newick -o -
# [end:export]
