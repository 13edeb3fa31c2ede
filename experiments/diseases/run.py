#!/usr/bin/env python3
"""Diseases: trees of diagnoses beside the phecode hierarchy, and stability of clusters of patients.

Usage: run.py PROGRAM DATA WORK PART…    PART is one of

  table3[:SET[:LEARNERS]]              trees beside the phecode hierarchy
  groups[:SET[:LEARNERS]]              the same with groups of codes, vectors of up to 31 codes, in place of presence
  bootstrap:SET:LEARNERS:N[:PATIENTS]  the same for N samples of the patients, drawn with replacement
  simulated[:FORM[:SEEDS[:LEARNERS]]]  known hierarchies; FORM is plain, realistic, uneven, or some of frailty, rare, comorbid and noise, joined by +
  clusters[:METHODS]                   stability of clusters of patients; METHODS of d-sidiwo, sidiwo, multi-view, asvtd and bisecting (k-means of scikit-learn)
  scaling                              seconds of the default by patients, codes and threads

DATA holds `ehr/`; files go to the folder WORK. Codes of diabetes130 have lost leading zeros (41 is 041), which are put back."""

import csv
import gzip
import json
import math
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

PROGRAM, DATA, WORK = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
MEASURES = ["robinson_foulds", "robinson_foulds_normalized", "robinson_foulds_huang", "matched_splits", "triplets", "quartets", "quartets_otherwise", "quartets_undivided", "nearest_same_group", "same_group_auc"]
LEARNERS = {
    "default": [],
    "quick": ["--effort", "quick"],
    "k2": ["--hidden-states", "2", "--select", "bic"],
    "k3": ["--hidden-states", "3", "--select", "bic"],
    "k4": ["--hidden-states", "4", "--select", "bic"],
    "clnj": ["--structure", "clnj"],
    "clnj-k3": ["--structure", "clnj", "--hidden-states", "3"],
    "clnj-k4": ["--structure", "clnj", "--hidden-states", "4"],
    "plrg": ["--structure", "plrg"],
    "average-linkage": ["--structure", "average-linkage", "--parameters", "none"],
    "complete-linkage": ["--structure", "complete-linkage", "--parameters", "none"],
    "single-linkage": ["--structure", "single-linkage", "--parameters", "none"],
}
SETS = {"diabetes130": ["--min-rows", "134"], "vermont_dx": ["--min-rows", "10"]}


def run(*arguments):
    """One run of the program: its JSON and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([PROGRAM, *map(str, arguments), "--json", "--quiet"], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{arguments}: {done.stderr}{done.stdout}")
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def padded(code):
    whole, _, rest = code.partition(".")
    return (whole.zfill(3) if whole.isdigit() else whole) + ("." + rest if rest else "")


def events(name):
    with gzip.open(DATA / "ehr" / f"{name}_events.csv.gz", "rt") as file:
        return [(patient, padded(code)) for patient, code in list(csv.reader(file))[1:]]


def write(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def prepare():
    WORK.mkdir(exist_ok=True)
    codes = set()
    for name in SETS:
        rows = events(name)
        codes |= {code for _, code in rows}
        write(WORK / f"{name}.csv", ["patient", "icd9"], rows)
    write(WORK / "three.csv", ["item", "group"], [(code, code.split(".")[0]) for code in sorted(codes)])
    first = {}
    for row in csv.DictReader(gzip.open(DATA / "ehr" / "phecode_map.csv.gz", "rt")):
        if row["vocabulary_id"] == "ICD9CM":
            first.setdefault(row["code"], row["phecode"])
    write(WORK / "phecodes.csv", ["item", "group"], sorted(first.items()))
    majors = {}
    for row in csv.DictReader(gzip.open(DATA / "ehr" / "icd9cm_hierarchy.csv.gz", "rt")):
        majors.setdefault(row["three_digit"], row["major"])
    write(WORK / "majors.csv", ["item", "text"], majors.items())
    info = csv.DictReader(gzip.open(DATA / "ehr" / "pheinfo.csv.gz", "rt"))
    info = [(row["phecode"], row["description"], row["group"]) for row in info]
    write(WORK / "pheinfo.csv", ["phecode", "description", "group"], info)


def reading(name):
    rollup = ["--events", "patient,icd9", "--rollup", WORK / "phecodes.csv", "--unmapped", "drop"]
    return [*rollup, "--descriptions", f"{WORK / 'pheinfo.csv'}:phecode,description", *SETS[name]]


def compared(tree, reference):
    found, _ = run("compare", tree, "--reference", reference[0], *reference[1:])
    return found


def line(label, found, cpu, more=""):
    print("|", label, "|", " | ".join(f"{found[name]:.4g}" if found[name] is not None else "–" for name in MEASURES), f"| {cpu:.1f} | {more}", flush=True)


def phecode_reference():
    return [f"{WORK / 'pheinfo.csv'}:phecode,group", "--prefixes"]


TABLE3 = ["default", "quick", "clnj", "plrg", "average-linkage", "complete-linkage", "single-linkage"]


def table3(learners=TABLE3, sets=SETS):
    for name in sets:
        for label in learners:
            tree = WORK / f"{name}.{label}.json"
            learned, cpu = run("learn", WORK / f"{name}.csv", *reading(name), *LEARNERS[label], "-o", tree)
            found = compared(tree, phecode_reference())
            line(f"{name} ({found['variables']}) | {label}", found, cpu, f"{learned['hidden']} hidden")


def groups(learners=TABLE3, sets=SETS):
    """Each phecode as a vector of its codes: the codes of the phecodes that `table3` reads."""
    group = dict(list(csv.reader(open(WORK / "phecodes.csv")))[1:])
    for name in sets:
        rows = [(patient, code, group[code]) for patient, code in events(name) if code in group]
        patients = {}
        for patient, _, phecode in rows:
            patients.setdefault(phecode, set()).add(patient)
        kept = {phecode for phecode, own in patients.items() if len(own) >= int(SETS[name][1])}
        n_codes = {}
        for _, code, phecode in rows:
            if phecode in kept:
                n_codes.setdefault(phecode, set()).add(code)
        path = write(WORK / f"{name}.groups.csv", ["patient", "icd9"], [(patient, code if phecode in kept else "") for patient, code, phecode in rows])
        for label in learners:
            tree = WORK / f"{name}.groups.{label}.json"
            learned, cpu = run("learn", path, "--events", "patient,icd9", "--group", WORK / "phecodes.csv", *LEARNERS[label], "-o", tree)
            found = compared(tree, phecode_reference())
            line(f"{name} ({found['variables']}, d to {max(map(len, n_codes.values()))}) | {label}", found, cpu, f"{learned['hidden']} hidden")


def bootstrap(name, labels, replicates, n_patients=None):
    """Samples of the patients, drawn with replacement, each seen by all learners."""
    rows = {}
    for patient, code in events(name):
        rows.setdefault(patient, []).append(code)
    patients, all_found = sorted(rows), {label: [] for label in labels}
    n_drawn = n_patients or len(patients)
    for seed in range(replicates):
        rng = random.Random(seed)
        drawn = [rows[rng.choice(patients)] for _ in range(n_drawn)]
        path = write(WORK / f"drawn.{name}.csv", ["patient", "icd9"], [(ix, code) for ix, codes in enumerate(drawn) for code in codes])
        options = reading(name)
        if n_patients:
            options[-1] = str(max(10, round(int(options[-1]) * n_drawn / len(patients))))
        for label in labels:
            tree = WORK / f"drawn.{name}.{seed}.{label}.json"
            _, cpu = run("learn", path, *options, *LEARNERS[label], "-o", tree)
            found = compared(tree, phecode_reference())
            all_found[label].append(found)
            line(f"{name} ({found['variables']}) | {seed} | {label}", found, cpu)
    shown = ("nearest_same_group", "same_group_auc", "triplets", "quartets")
    for label, found in all_found.items():
        for measure in shown:
            summary(f"{name} {label} {measure}", [it[measure] for it in found])
        if label != labels[-1]:
            for measure in shown:
                pairs = zip(found, all_found[labels[-1]])
                summary(f"{name} {label} less {labels[-1]} {measure}", [one[measure] - other[measure] for one, other in pairs])


def summary(what, values):
    values = sorted(values)
    mean = sum(values) / len(values)
    deviation = (sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)) ** 0.5
    print(f"{what}: mean {mean:.3f}, sd {deviation:.3f}, range {values[0]:.3f} to {values[-1]:.3f} ({len(values)})", flush=True)


def logistic(x):
    return 1 / (1 + math.exp(-x))


FEATURES = {"plain": "", "realistic": "frailty+rare+comorbid+noise", "uneven": "uneven"}


def hierarchy(sizes, patients, seed, form):
    """Events of patients in a known hierarchy: chapters have sections, and sections have diseases.

    Who is ill in a chapter is more often ill in its sections, and each section brings its diseases, every one at its own rate. In the plain form,
    chapters are independent, and all diseases are frequent. The realistic form adds what claims have:

    - a frailty of each patient, such as age, that makes all chapters more frequent together, some more than others;
    - rare diseases: rates of the ill are spread over 5% to 70% on a logarithmic scale;
    - comorbidity across chapters: the last section of a chapter brings the first section of the next in a quarter of the patients (as diabetes
      brings nephropathy), which no tree of chapters can hold;
    - noise: wrong and ruled-out codes, one in three patients, of any disease in proportion to its rate.

    The uneven form has chapters, sections and diseases that differ in how much they belong, and nothing that the hierarchy does not hold. Its
    ranges were fixed before any learner had seen it:

    - chapters: 10% to 40% of the patients are ill, at a uniform rate;
    - sections: 30% to 95% of those ill in the chapter, uniform, and 2% to 15% of that rate among the others;
    - diseases: 10% to 90% of those ill in the section, on a logarithmic scale, and 0.5% to 10% of that rate among the others."""
    features = FEATURES.get(form, form).split("+")
    rng = random.Random(100 * seed + sizes[0])
    chapters, sections, diseases = sizes
    names = [(f"{c}{s}{d}", f"{c}{s}", f"{c}") for c in "abcdef"[:chapters] for s in "pqrs"[:sections] for d in range(diseases)]
    if "rare" in features:
        rates = {}
        for name, _, _ in names:
            ill = math.exp(rng.uniform(math.log(0.05), math.log(0.7)))
            rates[name] = (ill, ill * rng.uniform(0.02, 0.08))
    else:
        rates = {name: (rng.uniform(0.25, 0.7), rng.uniform(0.005, 0.05)) for name, _, _ in names}
    share = {chapter: rng.uniform(0.15, 0.35) for _, _, chapter in names}
    belongs = {section: (0.6, 0.04) for _, section, _ in names}
    if "uneven" in features:
        share = {chapter: rng.uniform(0.1, 0.4) for chapter in share}
        for section in belongs:
            ill = rng.uniform(0.3, 0.95)
            belongs[section] = (ill, ill * rng.uniform(0.02, 0.15))
        for name in rates:
            ill = math.exp(rng.uniform(math.log(0.1), math.log(0.9)))
            rates[name] = (ill, ill * rng.uniform(0.005, 0.1))
    frailty = {chapter: rng.uniform(0.4, 1.0) if "frailty" in features else 0.0 for chapter in share}
    rows = []
    all_rates = [rates[name][0] for name, _, _ in names]
    for patient in range(patients):
        frail = rng.gauss(0, 1)
        of_chapter = {c: rng.random() < logistic(math.log(share[c] / (1 - share[c])) + frailty[c] * frail) for c in share}
        of_section = {}
        for _, section, chapter in names:
            if section not in of_section:
                of_section[section] = rng.random() < belongs[section][0 if of_chapter[chapter] else 1]
        if "comorbid" in features:
            for one, other in zip("abcdef"[: chapters - 1], "bcdef"):
                if of_section[one + "pqrs"[sections - 1]] and rng.random() < 0.25:
                    of_section[other + "p"] = True
        for name, section, _ in names:
            if rng.random() < rates[name][0 if of_section[section] else 1]:
                rows.append((patient, name))
        if "noise" in features and rng.random() < 1 / 3:
            rows.append((patient, rng.choices(names, all_rates)[0][0]))
        rows.append((patient, ""))
    return names, rows


def simulated(form="realistic", seeds=5, learners="default,clnj,plrg,average-linkage,complete-linkage,single-linkage"):
    """Learners beside the hierarchy that patients were drawn from; the last lines of a size are means over the seeds."""
    for sizes, patients in (((3, 2, 4), 2000), ((4, 3, 5), 5000), ((6, 4, 6), 10000)):
        label_of = f"{sizes[0]}×{sizes[1]}×{sizes[2]}, {patients}"
        sums = {}
        for seed in range(int(seeds)):
            names, rows = hierarchy(sizes, patients, seed, form)
            write(WORK / "reference.csv", ["item", "section", "chapter"], names)
            path = write(WORK / "simulated.csv", ["patient", "item"], rows)
            for label in learners.split(","):
                _, cpu = run("learn", path, "--events", "patient,item", *LEARNERS[label], "-o", WORK / "simulated.json")
                found = compared(WORK / "simulated.json", [f"{WORK / 'reference.csv'}:item,section,chapter"])
                line(f"{label_of} | {seed} | {label}", found, cpu)
                sums.setdefault(label, []).append([found[measure] for measure in MEASURES] + [cpu])
        for label, values in sums.items():
            means = [sum(column) / len(column) for column in zip(*values)]
            line(f"{label_of} | mean | {label}", dict(zip(MEASURES, means)), means[-1])


def patient_readings():
    three = ["--events", "patient,icd9", "--rollup", WORK / "three.csv", "--descriptions", WORK / "majors.csv", "--coverage", "0.9", "--min-items", "3"]
    phecodes = ["--events", "patient,icd9", "--rollup", WORK / "phecodes.csv", "--unmapped", "drop", "--descriptions",
                f"{WORK / 'pheinfo.csv'}:phecode,description", "--coverage", "0.9", "--min-items", "3"]
    return (("diabetes130", "three digits", three), ("diabetes130", "phecodes", phecodes), ("vermont_dx", "three digits", three))


def clusters(methods="d-sidiwo,sidiwo,multi-view,asvtd,bisecting"):
    for name, how, options in patient_readings():
        for method in methods.split(","):
            for depth in (2, 3, 4, 5):
                if method == "bisecting":
                    n_rows, stability, cpu = bisecting(WORK / f"{name}.csv", how, 2 ** (depth - 1))
                    print(f"| {name}, {how} | {method} | {depth} | {n_rows} | {stability:.3f} | {cpu:.2f} |", flush=True)
                    continue
                if "sidiwo" in method:
                    asked = ["cluster", "--depth", depth, "--method", method]
                else:
                    asked = ["mixture", "-k", 2 ** (depth - 1), "--method", method, "--em"]
                arguments = [asked[0], WORK / f"{name}.csv", *options, *asked[1:], "-o", WORK / "clusters.json"]
                found, cpu = run(*arguments)
                stable, _ = run(*arguments, "--stability", 5)
                warning = "; ".join(it for it in stable["warnings"] if "unstable" in it)
                print(f"| {name}, {how} | {method} | {depth} | {found['rows']} | {stable['stability']:.3f} | {cpu:.2f} | {warning}", flush=True)


def presence(path, how):
    """Rows of patients and columns of items as `--coverage 0.9 --min-items 3` has them, sparse."""
    import numpy
    import scipy.sparse

    group = dict(list(csv.reader(open(WORK / ("three.csv" if how == "three digits" else "phecodes.csv"))))[1:])
    pairs = {(patient, group[code]) for patient, code in list(csv.reader(open(path)))[1:] if code in group}
    counts = {}
    for _, item in pairs:
        counts[item] = counts.get(item, 0) + 1
    kept, seen = {}, 0
    for item in sorted(counts, key=lambda item: (-counts[item], item)):
        if seen >= 0.9 * len(pairs):
            break
        seen += counts[item]
        kept[item] = len(kept)
    rows = {}
    for patient, item in pairs:
        if item in kept:
            rows.setdefault(patient, []).append(kept[item])
    rows = [items for _, items in sorted(rows.items()) if len(items) >= 3]
    at = numpy.repeat(numpy.arange(len(rows)), [len(items) for items in rows])
    return scipy.sparse.csr_matrix((numpy.ones(len(at)), (at, [item for items in rows for item in items])), shape=(len(rows), len(kept)))


def bisecting(path, how, n_clusters, runs=5):
    """Stability of scikit-learn's bisecting k-means, as `--stability` has it: two fits share 80% of the rows and have another 10% each."""
    import numpy
    from sklearn.cluster import BisectingKMeans
    from sklearn.metrics import adjusted_rand_score

    data = presence(path, how)
    n_rows, found, seconds = data.shape[0], [], []
    for run_ix in range(runs):
        order = numpy.random.default_rng(run_ix).permutation(n_rows)
        common, tenth = n_rows * 8 // 10, n_rows // 10
        labels = []
        for part in (0, 1):
            before = resource.getrusage(resource.RUSAGE_SELF)
            fit = BisectingKMeans(n_clusters, n_init=1, random_state=run_ix).fit(data[numpy.concatenate([order[:common], order[common + part * tenth :][:tenth]])])
            after = resource.getrusage(resource.RUSAGE_SELF)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            labels.append(fit.labels_[:common])
        found.append(adjusted_rand_score(*labels))
    return n_rows, sum(found) / runs, sorted(seconds)[len(seconds) // 2]


def scaling():
    """Wall and CPU seconds of the default on diabetes130: all patients and fewer, codes of more and fewer patients, one thread and two."""
    rows = events("diabetes130")
    patients = sorted({patient for patient, _ in rows})
    for n_patients in (5000, 20000, len(patients)):
        kept = set(random.Random(0).sample(patients, n_patients))
        path = write(WORK / "fewer.csv", ["patient", "icd9"], [row for row in rows if row[0] in kept])
        for share in (0.008, 0.004, 0.00187):
            for threads in (1, 2):
                options = [*reading("diabetes130")[:-1], max(10, round(share * n_patients)), "--threads", threads]
                started = time.monotonic()
                found, cpu = run("learn", path, *options, "-o", WORK / "fewer.json")
                print(f"| {n_patients} | {found['variables']} | {threads} | {time.monotonic() - started:.1f} | {cpu:.1f} | {found['hidden']} |", flush=True)


if __name__ == "__main__":
    prepare()
    for part in sys.argv[4:]:
        name, *more = part.split(":")
        if name == "table3":
            table3(more[1].split(",") if len(more) > 1 else TABLE3, [more[0]] if more else SETS)
        elif name == "groups":
            groups(more[1].split(",") if len(more) > 1 else TABLE3, [more[0]] if more else SETS)
        elif name == "bootstrap":
            bootstrap(more[0], more[1].split(","), int(more[2]), int(more[3]) if len(more) > 3 else None)
        else:
            {"simulated": simulated, "clusters": clusters, "scaling": scaling}[name](*more)
