# --8<-- [start:learn]
latentree learn examples/clinic.csv -o clinic.json --report clinic.html
# --8<-- [end:learn]

# --8<-- [start:infer]
latentree infer clinic.json examples/clinic.csv --map -o groups.csv
head -4 groups.csv
# --8<-- [end:infer]

# --8<-- [start:query]
latentree query clinic.json --given obesity=1,hypertension=1 --of type_2_diabetes,heart_failure
# --8<-- [end:query]
