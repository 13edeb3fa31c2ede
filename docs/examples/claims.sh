# The hierarchy of diseases in simulated claims; make_claims.py writes them.
# [start:look]
head -4 claims.csv
head -3 phecodes.csv
latentree describe claims.csv --events patient,icd9 --rollup phecodes.csv:icd9,phecode --unmapped drop --descriptions phecodes.csv:phecode,description --top 5
# [end:look]
# [start:learn]
latentree learn claims.csv --events patient,icd9 --rollup phecodes.csv:icd9,phecode --unmapped drop --descriptions phecodes.csv:phecode,description -o diseases.json --report diseases.html
# [end:learn]
# [start:compare]
latentree compare diseases.json --reference phecodes.csv:phecode,system
# [end:compare]
# [start:linkage]
latentree learn claims.csv --events patient,icd9 --rollup phecodes.csv:icd9,phecode --unmapped drop --descriptions phecodes.csv:phecode,description --structure average-linkage --parameters none -o dendrogram.json --quiet > /dev/null
latentree compare dendrogram.json --reference phecodes.csv:phecode,system
latentree export dendrogram.json --format linkage -o dendrogram.csv
# [end:linkage]
# [start:sure]
latentree learn claims.csv --from diseases.json --time date --until 2020-06 -o early.json --quiet > /dev/null
latentree score early.json claims.csv --events patient,icd9 --rollup phecodes.csv:icd9,phecode --unmapped drop --time date --since 2020-07
latentree compare early.json --reference phecodes.csv:phecode,system
# [end:sure]
# [start:query]
latentree query diseases.json --given 250=1,401=1 --of 428,Gout
# [end:query]
