#!/usr/bin/env bash
# Makes small seed files for every target, in fuzz/corpus. Needs the program: cargo build --release -p latentree-cli
set -euo pipefail
cd "$(dirname "$0")"
latentree=${LATENTREE:-../target/release/latentree}
for target in model_file spectral newick bif xmlbif moments docword csv events distances text arrow; do
    mkdir -p "corpus/$target"
done

for family in categorical gaussian symmetric mixed; do
    "$latentree" simulate --quiet --shape star --observed 3 --family $family --model corpus/model_file/$family.json \
        --data corpus/csv/$family.csv --rows 4 --missing 0.2
    # A file without its checksum may be changed and still be read.
    sed -i '/"checksum"/d' corpus/model_file/$family.json
    "$latentree" moments --quiet corpus/csv/$family.csv -o corpus/moments/$family.moments || true
done
"$latentree" simulate --quiet --shape random --observed 5 --model corpus/model_file/random.json
sed -i '/"checksum"/d' corpus/model_file/random.json
for model in categorical symmetric random; do
    "$latentree" export --quiet corpus/model_file/$model.json --format bif -o corpus/bif/$model.bif
    "$latentree" export --quiet corpus/model_file/$model.json --format xmlbif -o corpus/xmlbif/$model.xmlbif
    "$latentree" export --quiet corpus/model_file/$model.json --format newick -o corpus/newick/$model.nwk
done
printf '{"format":"latentree","version":1,"kind":"tree","nodes":[{"name":"h","observed":false},{"name":"a","observed":true}],"edges":[{"source":"h","target":"a","distance":0.5,"support":0.9}]}' > corpus/model_file/tree.json

printf "(a:0.1,b:0.2,(c:1,'d e':1e-3)0.98:0.3);" > corpus/newick/support.nwk
printf "(a,b[&observed],(c,d)h2[&hidden]:-0.3[&support=0.98])h1;\n(e,f);" > corpus/newick/forest.nwk

cat > corpus/bif/rows.bif <<'BIF'
network n { property a = b; } // comment
variable "h 1" { type discrete [ 2 ] { no, yes }; property latentree = "hidden"; }
variable x { type discrete[3] { 0 1 2 }; property latentree = "name %41"; }
probability ( "h 1" ) { table 0.25 0.75; }
probability ( x | "h 1" ) { default 0.2, 0.3, 0.5; (yes) 1 0 0; }
BIF

printf 'x,y\n1,2.5\n2,\n"1","a ""b"",c"\n' > corpus/csv/quotes.csv
printf '#007,true\n8,false\n,NA\n' > corpus/csv/no_header.csv
printf '!p1,a\np1,b\np2,a\n' > corpus/csv/events.csv
printf 'a;b\r\n1;-1e300\r\n\r\n3;0.1\r\n' > corpus/csv/semicolons.csv
for ((i = 0; i < 20; i++)); do echo "$((i * i)),$i.5,l$((i % 3))"; done | sed '1i n,r,l' > corpus/csv/kinds.csv
"$latentree" moments --quiet corpus/csv/kinds.csv -o corpus/moments/kinds.moments

printf '3\n4\n3\n1 1 2\n1 3 1\n3 4 7\n' > corpus/docword/words.txt
printf '2\n2\n3\n2 1 2\n1 2 1\n2 1 1\n' > corpus/docword/unsorted.txt
printf '%%%%MatrixMarket matrix coordinate real general\n%% c\n3 2 2\n1 1 0.5\n3 2 -1e3\n' > corpus/docword/real.mtx
printf '%%%%MatrixMarket matrix array integer general\n2 2\n1\n0\n2\nnan\n' > corpus/docword/array.mtx
printf '+1 1:2 3:1 # c\n-1\n+1 2:0.5\n' > corpus/docword/labels.svm

printf 'p1,a\np1,b\np2,a\n,\n' > corpus/events/sorted.csv
printf 'p2;a\np1;b\np2;a\np1;\n' > corpus/events/unsorted.csv
printf '+10,a,1.5\n9,b,2\n10,a,"1,5"\n' > corpus/events/values.csv
printf '~\xff\xfep\0,\0a\0\n\0q\0,\0b\0\n\0' > corpus/events/utf16.csv

printf 'A red car, the CAR; caf\xc3\xa9 42 b2b\n' > corpus/text/plain.txt
printf '##one\nred car\n#two\n\n#three\nblue\n' > corpus/text/split.txt
printf ',"red, car\nblue",1\n,2\nred,3\n' > corpus/text/column.csv
printf '~\xff\xfer\0e\0d\0' > corpus/text/utf16.txt

printf ',,x,y,z\nx,0,1,2.5\ny,1,0,\nz,2.5,,0\n' > corpus/distances/corner.csv
printf ',x,y\n0,1e-7\n1e-7,0\n' > corpus/distances/no_corner.csv
printf ':\tx\t"y z"\nx\t0\tNA\n"y z"\tNA\t0\n' > corpus/distances/tabs.tsv
printf '#3\nx 0 1 2.5\ny 1 0 NA\nz 2.5 NA 0\n' > corpus/distances/square.phy
printf '#3\nab        0 1\n 2\nPan trogl.1 0 3\nc 2 3 0\n' > corpus/distances/strict.phy
printf '3\nx\ny 1\nz 2.5 NA\n' > corpus/distances/lower.dist

for family in categorical gaussian mixed; do
    for ending in arrow parquet; do
        "$latentree" sample --quiet corpus/model_file/$family.json --rows 5 --missing 0.2 -o corpus/arrow/$family.$ending
    done
done

# Spectral models and a classifier, without their checksums.
"$latentree" simulate --quiet --shape hmm --observed 5 --family categorical --states 3 --hidden-states 2 --rows 200 \
    --model corpus/model_file/hmm.json --data corpus/csv/hmm.csv
sed -i '/"checksum"/d' corpus/model_file/hmm.json
for method in spectral hierarchical; do
    "$latentree" learn --quiet corpus/csv/hmm.csv --structure chain --parameters $method -o corpus/spectral/$method.json
    sed -i '/"checksum"/d' corpus/spectral/$method.json
done
"$latentree" learn --quiet corpus/csv/hmm.csv --target x3 --structure chain --parameters spectral -o corpus/spectral/classifier.json
{ printf +; sed 's/"checksum":"[^"]*",//' corpus/spectral/classifier.json; } > corpus/spectral/classifier
rm corpus/spectral/classifier.json
