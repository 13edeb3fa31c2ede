# [start:fit]
latentree mixture examples/clinic.csv -k 4 -o classes.json --labels classes.csv --quiet
head -4 classes.csv
# [end:fit]

# [start:score]
latentree score classes.json examples/clinic.csv
# [end:score]

# [start:query]
latentree query classes.json --given depression=1,insomnia=1 --of h1
# [end:query]

# [start:topics]
latentree simulate --shape star --observed 60 --family categorical --states 2 --hidden-states 3 --separation 0.7 --model truth.json --data rows.csv --rows 2000 --quiet > /dev/null
latentree mixture rows.csv -k auto --family bernoulli --em -o found.json
# [end:topics]
