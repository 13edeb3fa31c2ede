# [start:learn]
latentree learn examples/clinic.csv -o clinic.json --report clinic.html
# [end:learn]

# [start:infer]
latentree infer clinic.json examples/clinic.csv --map -o groups.csv
head -4 groups.csv
# [end:infer]

# [start:query]
latentree query clinic.json --given obesity=1,hypertension=1 --of type_2_diabetes,heart_failure
# [end:query]
