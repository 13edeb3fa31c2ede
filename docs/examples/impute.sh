# --8<-- [start:impute]
latentree learn examples/clinic.csv -o clinic.json > learned.txt
latentree infer clinic.json examples/clinic.csv --impute -o filled.csv
for file in examples/clinic.csv filled.csv; do sed -n '1p;3p' $file | cut -d, -f36-40; done
# --8<-- [end:impute]

# --8<-- [start:probability]
latentree query clinic.json --given copd=1,asthma=1 --of sleep_apnoea
# --8<-- [end:probability]
