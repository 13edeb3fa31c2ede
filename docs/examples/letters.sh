# [start:letters]
ls letters | wc -l
head -c 100 letters/001.txt; echo
# [end:letters]

# [start:describe]
latentree describe letters --text --top 4
# [end:describe]

# [start:topics]
latentree topics letters --model single-topic -k 6 --documents by_topic.csv -o letters.json
# [end:topics]

# [start:documents]
head -4 by_topic.csv | cut -d, -f1-3
# [end:documents]

# [start:dates]
latentree topics letters.csv --column text --id letter --dates sent --model single-topic -k 6 --words 4 -o letters.json
# [end:dates]

# [start:sure]
for k in 3 6 12; do
  latentree mixture 'letters/[0-2]*.txt' --text --family single-topic --em -k $k --stability 3 -o half.json -q | grep stability
  latentree score half.json 'letters/[3-6]*.txt' --text -q | grep 'per row'
done
# [end:sure]

# [start:new]
echo "The band played its new album on a stage under the bridge" > new.txt
latentree infer letters.json new.txt --text --map -o new.csv
cat new.csv
# [end:new]
