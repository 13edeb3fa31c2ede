# [start:split]
(head -1 examples/clinic.csv; sed -n '2,2001p' examples/clinic.csv) > north.csv
(head -1 examples/clinic.csv; sed -n '2002,$p' examples/clinic.csv) > south.csv
# [end:split]

# [start:moments]
latentree moments north.csv --kind '*=binary' -o north.moments
latentree moments south.csv --kind '*=binary' -o south.moments
latentree merge north.moments south.moments -o both.moments
# [end:moments]

# [start:learn]
latentree learn both.moments -o both.json
# [end:learn]

# [start:compare]
latentree moments examples/clinic.csv --kind '*=binary' -o all.moments > log.txt
latentree learn all.moments -o all.json > log.txt
latentree compare all.json both.json
# [end:compare]

# [start:tables]
latentree moments south.csv --kind '*=binary' --for both.json -o south.moments
latentree moments north.csv --for south.moments -o north.moments
latentree merge south.moments north.moments -o tables.moments
latentree learn tables.moments -o tables.json > log.txt
latentree score tables.json examples/clinic.csv
# [end:tables]

# [start:parameters]
latentree learn north.csv --tree both.json -o north.json > log.txt
latentree score north.json south.csv
# [end:parameters]

# [start:gaussian]
latentree moments returns.csv -o returns.moments
latentree learn returns.moments -o returns.json | head -8
# [end:gaussian]
