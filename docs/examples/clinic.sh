# --8<-- [start:learn]
latentree learn examples/clinic.csv -o clinic.json
# --8<-- [end:learn]

# --8<-- [start:compare]
latentree compare examples/clinic.truth.json clinic.json
# --8<-- [end:compare]

# --8<-- [start:score]
latentree score examples/clinic.truth.json examples/clinic.csv
latentree score clinic.json examples/clinic.csv
# --8<-- [end:score]

# --8<-- [start:new]
latentree sample examples/clinic.truth.json --rows 5000 --seed 2026 -o new.csv
latentree score examples/clinic.truth.json new.csv
latentree score clinic.json new.csv
# --8<-- [end:new]

# --8<-- [start:parameters]
latentree compare survey.truth.json survey.json
# --8<-- [end:parameters]

# --8<-- [start:query]
latentree query examples/clinic.truth.json --given obesity=1,hypertension=1 --of type_2_diabetes,heart_failure
latentree query clinic.json --given obesity=1,hypertension=1 --of type_2_diabetes,heart_failure
# --8<-- [end:query]
