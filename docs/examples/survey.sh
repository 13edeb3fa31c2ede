# [start:simulate]
cat > survey.nwk <<'END'
((talkative,outgoing,lively,shy)extraversion,(worried,tense,moody,calm)worry,
 (orderly,punctual,careless,thorough)order,(kind,trusting,rude,helpful)warmth)person;
END
latentree simulate --tree survey.nwk --family categorical --states 5 --hidden-states 3 --separation 0.7 \
  --rows 1500 --missing 0.15 --seed 3 --model survey.truth.json --data survey.csv
head -3 survey.csv
# [end:simulate]

# [start:describe]
latentree describe survey.csv --top 5
# [end:describe]

# [start:learn]
latentree learn survey.csv --hidden-states 3 -o survey.json --report survey.html
# [end:learn]

# [start:query]
latentree query survey.json --given talkative=4,tense=0 --of outgoing,worried
# [end:query]
