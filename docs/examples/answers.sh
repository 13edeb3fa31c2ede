# [start:learn]
latentree simulate --shape hmm --observed 12 --family categorical --states 4 --hidden-states 2 --separation 0.7 \
  --rows 20000 --seed 5 --model positions.truth.json --data positions.csv -q
latentree learn positions.csv --structure chain --parameters spectral --hidden-states 2 -o spectral.json --json | grep -o '"clipped_rows":[0-9]*'
# [end:learn]
# [start:query]
latentree query spectral.json --given x1=0,x2=1 --of x3
latentree query positions.truth.json --given x1=0,x2=1 --of x3
# [end:query]
# [start:score]
latentree score spectral.json positions.csv
latentree score positions.truth.json positions.csv
# [end:score]
# [start:describe]
latentree describe spectral.json
# [end:describe]
