# [start:make]
latentree simulate --shape complete --degree 4 --observed 36 --seed 1 --model truth.json
latentree sample truth.json --rows 100000 -o many.parquet
# [end:make]

# [start:learn]
latentree learn many.parquet --structure likelihood --em-iterations 20 --memory 8M -o found.json > learned.txt 2> notes.txt
grep -E '^(rows|hidden variables) ' learned.txt
latentree compare truth.json found.json | head -3
# [end:learn]
