# [start:data]
for class in 1 2; do
  latentree simulate --shape hmm --observed 12 --family categorical --states 4 --hidden-states 2 --separation 0.6 \
    --rows 2000 --seed $class --model class$class.truth.json --data class$class.csv -q
done
{ sed -n '1s/$/,class/p' class1.csv; sed '1d;s/$/,donor/' class1.csv; sed '1d;s/$/,acceptor/' class2.csv; } > sequences.csv
head -3 sequences.csv
# [end:data]
# [start:learn]
latentree learn sequences.csv --target class --structure chain --parameters spectral --hidden-states auto --folds 5 -o classes.json
# [end:learn]
# [start:classify]
latentree classify classes.json class1.csv -o labels.csv
head -3 labels.csv
# [end:classify]
