# [start:cluster]
latentree simulate --shape star --observed 30 --family categorical --states 4 --hidden-states 4 --separation 0.5 --model truth4.json --data rows4.csv --rows 2000 --quiet > /dev/null
latentree cluster rows4.csv --leaves auto --em --min-size 20 -o tree.json --labels leaves.csv
# [end:cluster]

# [start:infer]
latentree infer tree.json rows4.csv -o again.csv
head -3 again.csv
# [end:infer]

# [start:export]
latentree export tree.json --format newick -o -
# [end:export]
