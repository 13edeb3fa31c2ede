# [start:session]
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", 2).getOrCreate()
patients = spark.read.csv("examples/clinic.csv", header=True, inferSchema=True).repartition(4).persist()
# [end:session]

# [start:fit]
from latentree.spark import SparkLatentTree

model = SparkLatentTree(features_cols=patients.columns, structure="clnj", em_iterations=5).fit(patients)
print(model.summary)
for hidden, items in list(model.tree.items(n=3).items())[:4]:
    print(hidden, *items)
# [end:fit]

# [start:transform]
print(round(model.score(patients), 4))
rows = model.transform(patients).orderBy("log_likelihood")
rows.selectExpr("copd", "asthma", "round(`h1=1`, 3) as h1", "round(log_likelihood, 2) as fit").show(3)
# [end:transform]

# [start:save]
model.write().overwrite().save("model.spark")
model.tree.save("model.json")  # for the command line
# [end:save]
spark.stop()
