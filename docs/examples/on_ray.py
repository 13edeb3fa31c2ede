# [start:fit]
import ray

from latentree.ray import RayLatentTree

ray.init(num_cpus=2, include_dashboard=False)
ray.data.DataContext.get_current().enable_progress_bars = False
patients = ray.data.read_csv("examples/clinic.csv").repartition(3).materialize()
model = RayLatentTree(structure="clnj", em_iterations=5).fit(patients)
print("log-likelihood", round(model.tree.log_likelihood_, 2))
# [end:fit]
ray.shutdown()
