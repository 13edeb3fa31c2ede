# [start:impute]
latentree learn examples/clinic.csv -o clinic.json > learned.txt
latentree infer clinic.json examples/clinic.csv --impute -o filled.csv
for file in examples/clinic.csv filled.csv; do sed -n '1p;3p' $file | cut -d, -f36-40; done
# [end:impute]

# [start:probability]
latentree query clinic.json --given copd=1,asthma=1 --of sleep_apnoea
# [end:probability]
