#!/usr/bin/env python3
"""Diseases: trees of diagnoses beside the phecode hierarchy, and stability of clusters of patients.

Usage: run.py PROGRAM DATA WORK PART…    PART is table3[:SET[:LEARNERS]], bootstrap:SET:LEARNER:N, simulated or clusters

DATA holds `ehr/`; files go to the folder WORK. Codes of diabetes130 have lost leading zeros (41 is 041), which are put back."""

import csv
import gzip
import json
import random
import resource
import subprocess
import sys
from pathlib import Path

PROGRAM, DATA, WORK = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
MEASURES = ["robinson_foulds", "robinson_foulds_normalized", "robinson_foulds_huang", "matched_splits", "triplets", "quartets", "nearest_same_group", "same_group_auc"]
LEARNERS = {
    "default": [],
    "quick": ["--effort", "quick"],
    "clnj": ["--structure", "clnj"],
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


def table3(learners=LEARNERS, sets=SETS):
    for name in sets:
        for label in learners:
            tree = WORK / f"{name}.{label}.json"
            learned, cpu = run("learn", WORK / f"{name}.csv", *reading(name), *LEARNERS[label], "-o", tree)
            found = compared(tree, phecode_reference())
            line(f"{name} ({found['variables']}) | {label}", found, cpu, f"{learned['hidden']} hidden")


def bootstrap(name, label, replicates):
    """Replicates over patients, each drawn with replacement."""
    rows = {}
    for patient, code in events(name):
        rows.setdefault(patient, []).append(code)
    patients, all_found = sorted(rows), []
    for seed in range(replicates):
        rng = random.Random(seed)
        drawn = (rows[rng.choice(patients)] for _ in patients)
        path = write(WORK / "drawn.csv", ["patient", "icd9"], [(ix, code) for ix, codes in enumerate(drawn) for code in codes])
        run("learn", path, *reading(name), *LEARNERS[label], "-o", WORK / "drawn.json")
        all_found.append(compared(WORK / "drawn.json", phecode_reference()))
    for measure in ("nearest_same_group", "same_group_auc", "triplets", "quartets"):
        values = sorted(found[measure] for found in all_found)
        mean = sum(values) / len(values)
        deviation = (sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1)) ** 0.5
        print(f"{name} {label} {measure}: mean {mean:.3f}, sd {deviation:.3f}, range {values[0]:.3f}–{values[-1]:.3f} ({replicates})", flush=True)


def simulated(seeds=3):
    """Hierarchies of chapters, sections and diseases with planted illnesses; presence in patients."""
    for sizes, patients in (((3, 2, 4), 2000), ((4, 3, 5), 5000), ((6, 4, 6), 10000)):
        for seed in range(seeds):
            rng = random.Random(100 * seed + sizes[0])
            chapters, sections, diseases = sizes
            names = [(f"{c}{s}{d}", f"{c}{s}", f"{c}") for c in "abcdef"[:chapters] for s in "pqrs"[:sections] for d in range(diseases)]
            write(WORK / "reference.csv", ["item", "section", "chapter"], names)
            # Prevalence among the ill and the well differs from disease to disease, as it does in claims.
            rates = {name: (rng.uniform(0.25, 0.7), rng.uniform(0.005, 0.05)) for name, _, _ in names}
            share = {chapter: rng.uniform(0.15, 0.35) for _, _, chapter in names}
            rows = []
            for patient in range(patients):
                of_chapter = {chapter: rng.random() < share[chapter] for chapter in share}
                of_section = {}
                for name, section, chapter in names:
                    if section not in of_section:
                        of_section[section] = rng.random() < (0.6 if of_chapter[chapter] else 0.04)
                    if rng.random() < rates[name][0 if of_section[section] else 1]:
                        rows.append((patient, name))
                rows.append((patient, ""))
            path = write(WORK / "simulated.csv", ["patient", "item"], rows)
            for label in ("default", "clnj", "plrg", "average-linkage", "complete-linkage", "single-linkage"):
                _, cpu = run("learn", path, "--events", "patient,item", *LEARNERS[label], "-o", WORK / "simulated.json")
                found = compared(WORK / "simulated.json", [f"{WORK / 'reference.csv'}:item,section,chapter"])
                line(f"{chapters}×{sections}×{diseases}, {patients} | {seed} | {label}", found, cpu)


def clusters():
    three = ["--events", "patient,icd9", "--rollup", WORK / "three.csv", "--descriptions", WORK / "majors.csv", "--coverage", "0.9", "--min-items", "3"]
    phecodes = ["--events", "patient,icd9", "--rollup", WORK / "phecodes.csv", "--unmapped", "drop", "--descriptions",
                f"{WORK / 'pheinfo.csv'}:phecode,description", "--coverage", "0.9", "--min-items", "3"]
    for name, how, options in (("diabetes130", "three digits", three), ("diabetes130", "phecodes", phecodes), ("vermont_dx", "three digits", three)):
        for method in ("d-sidiwo", "sidiwo"):
            for depth in (2, 3, 4, 5):
                found, cpu = run("cluster", WORK / f"{name}.csv", *options, "--depth", depth, "--method", method, "-o", WORK / "clusters.json")
                stable, _ = run("cluster", WORK / f"{name}.csv", *options, "--depth", depth, "--method", method, "--stability", 5, "-o", WORK / "clusters.json")
                print("|", name, how, method, "|", depth, "|", found.get("rows"), "|", stable.get("stability"), "|", f"{cpu:.2f}", "|", stable.get("warnings"), flush=True)


if __name__ == "__main__":
    prepare()
    for part in sys.argv[4:]:
        name, *more = part.split(":")
        if name == "table3":
            table3(more[1].split(",") if len(more) > 1 else LEARNERS, [more[0]] if more else SETS)
        elif name == "bootstrap":
            bootstrap(more[0], more[1], int(more[2]))
        else:
            {"simulated": simulated, "clusters": clusters}[name]()
