# --8<-- [start:split]
(head -1 examples/clinic.csv; sed -n '2,2001p' examples/clinic.csv) > north.csv
(head -1 examples/clinic.csv; sed -n '2002,$p' examples/clinic.csv) > south.csv
# --8<-- [end:split]

# --8<-- [start:moments]
latentree moments north.csv --kind '*=binary' -o north.moments
latentree moments south.csv --kind '*=binary' -o south.moments
latentree merge north.moments south.moments -o both.moments
# --8<-- [end:moments]

# --8<-- [start:learn]
latentree learn both.moments -o both.json
# --8<-- [end:learn]

# --8<-- [start:compare]
latentree moments examples/clinic.csv --kind '*=binary' -o all.moments > log.txt
latentree learn all.moments -o all.json > log.txt
latentree compare all.json both.json
# --8<-- [end:compare]

# --8<-- [start:tables]
latentree moments south.csv --kind '*=binary' --for both.json -o south.moments
latentree moments north.csv --for south.moments -o north.moments
latentree merge south.moments north.moments -o tables.moments
latentree learn tables.moments -o tables.json > log.txt
latentree score tables.json examples/clinic.csv
# --8<-- [end:tables]

# --8<-- [start:parameters]
latentree learn north.csv --tree both.json -o north.json > log.txt
latentree score north.json south.csv
# --8<-- [end:parameters]

# --8<-- [start:gaussian]
latentree moments returns.csv -o returns.moments
latentree learn returns.moments -o returns.json | head -8
# --8<-- [end:gaussian]
