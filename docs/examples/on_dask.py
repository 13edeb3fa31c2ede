# [start:fit]
import dask.dataframe
from distributed import Client, LocalCluster

from latentree.dask import DaskLatentTree

client = Client(LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None))
patients = dask.dataframe.read_csv("examples/clinic.csv", blocksize=100_000, assume_missing=True).persist()
model = DaskLatentTree(client=client, structure="clnj", em_iterations=5).fit(patients)
print(patients.npartitions, "partitions, log-likelihood", round(model.tree.log_likelihood_, 2))
# [end:fit]

# [start:transform]
print(model.transform(patients).head(3).iloc[:, :4].round(3).to_string())
# [end:transform]
client.close()
