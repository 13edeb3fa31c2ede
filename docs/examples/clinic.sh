# [start:learn]
latentree learn examples/clinic.csv -o clinic.json
# [end:learn]

# [start:compare]
latentree compare examples/clinic.truth.json clinic.json
# [end:compare]

# [start:score]
latentree score examples/clinic.truth.json examples/clinic.csv
latentree score clinic.json examples/clinic.csv
# [end:score]

# [start:new]
latentree sample examples/clinic.truth.json --rows 5000 --seed 2026 -o new.csv
latentree score examples/clinic.truth.json new.csv
latentree score clinic.json new.csv
# [end:new]

# [start:parameters]
latentree compare survey.truth.json survey.json
# [end:parameters]

# [start:query]
latentree query examples/clinic.truth.json --given obesity=1,hypertension=1 --of type_2_diabetes,heart_failure
latentree query clinic.json --given obesity=1,hypertension=1 --of type_2_diabetes,heart_failure
# [end:query]
