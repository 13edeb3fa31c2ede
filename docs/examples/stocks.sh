# [start:simulate]
cat > stocks.nwk <<'END'
((NorthBank,CityBank,HarbourBank,TrustBank)banks,(Brent,Arctic,Delta,Pipeline)oil,
 (ChipWorks,CloudNine,DataPort,SoftHouse)technology,(GreenGrid,CityPower,HydroCo,NuclearOne)utilities)market;
END
latentree simulate --tree stocks.nwk --family gaussian --correlation 0.6,0.9 --rows 500 --seed 2 \
  --model stocks.truth.json --data returns.csv
# [end:simulate]

# [start:learn]
latentree learn returns.csv -o stocks.json --bootstrap 50 --report stocks.html
# [end:learn]

# [start:query]
latentree query stocks.json --given NorthBank=-2 --of CityBank,Brent,CloudNine
# [end:query]
