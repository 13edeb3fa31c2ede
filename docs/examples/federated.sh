# [start:split]
(head -1 examples/clinic.csv; sed -n '2,2001p' examples/clinic.csv) > north.csv
(head -1 examples/clinic.csv; sed -n '2002,3501p' examples/clinic.csv) > south.csv
(head -1 examples/clinic.csv; sed -n '3502,$p' examples/clinic.csv) > west.csv
# [end:split]

# [start:schema]
latentree describe north.csv --kind '*=binary' --schema-out columns.json > log.txt
latentree federate start run --schema columns.json --sites north,south,west
# [end:schema]

# [start:answer]
echo '{"least_rows": 100}' > policy.json
latentree federate answer run/round-1.pass north.csv --site north --policy policy.json -o round-1.north.part
# [end:answer]

# [start:next]
latentree federate answer run/round-1.pass south.csv --site south -o round-1.south.part > log.txt
latentree federate next run round-1.north.part round-1.south.part
latentree federate answer run/round-1.pass west.csv --site west -o round-1.west.part > log.txt
latentree federate next run round-1.west.part
# [end:next]

# [start:rounds]
for round in 2 3 4 5 6 7 8; do
  if [ ! -e run/model.json ]; then
    for site in north south west; do
      latentree federate answer run/round-$round.pass $site.csv --site $site -o round-$round.$site.part > log.txt
    done
    latentree federate next run round-$round.*.part > log.txt
  fi
done
latentree federate status run
latentree score run/model.json examples/clinic.csv
# [end:rounds]

# [start:masks]
for site in north south west; do latentree federate keygen $site > log.txt; done
latentree federate start masked --schema columns.json --structure clnj --keys north.pub south.pub west.pub > log.txt
for site in north south west; do
  latentree federate answer masked/round-1.pass $site.csv --site $site --mask $site.key --record $site.masked.json -o $site.part | grep '^numbers'
done
latentree federate next masked north.part south.part west.part
# [end:masks]

# [start:private]
latentree federate start private --schema columns.json --dp-rho 0.5 --max-items 12
# [end:private]

# [start:noisy]
for round in 1 2; do
  for site in north south west; do
    latentree federate answer private/round-$round.pass $site.csv --site $site --record $site.private.json -o $site.part > log.txt
  done
  latentree federate next private north.part south.part west.part > log.txt 2>&1
done
latentree federate status private
# [end:noisy]

# [start:moments]
latentree moments north.csv --kind '*=binary' -o north.moments
latentree moments south.csv --kind '*=binary' -o south.moments
latentree moments west.csv --kind '*=binary' -o west.moments
latentree merge north.moments south.moments west.moments -o all.moments
latentree learn all.moments -o all.json | head -6
# [end:moments]
