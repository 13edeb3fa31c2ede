"""Writes simulated claims: 4,000 patients, 24 diseases of five organ systems, each billed under two or three ICD-9 codes."""

import csv
import random

SYSTEMS = {
    "endocrine": {
        "250": ("Diabetes mellitus", ["250.00", "250.02", "250.40"]),
        "272": ("Disorders of lipoid metabolism", ["272.0", "272.4"]),
        "278": ("Overweight and obesity", ["278.00", "278.01"]),
        "244": ("Hypothyroidism", ["244.8", "244.9"]),
        "274": ("Gout", ["274.00", "274.9"]),
    },
    "circulatory": {
        "401": ("Hypertension", ["401.1", "401.9"]),
        "411": ("Ischemic heart disease", ["411.1", "414.00", "414.01"]),
        "428": ("Heart failure", ["428.0", "428.9"]),
        "427": ("Atrial fibrillation", ["427.31", "427.32"]),
        "395": ("Heart valve disorders", ["424.0", "424.1"]),
    },
    "respiratory": {
        "496": ("Chronic airway obstruction", ["491.20", "496"]),
        "495": ("Asthma", ["493.00", "493.90"]),
        "480": ("Pneumonia", ["482.9", "486"]),
        "327": ("Sleep apnea", ["327.23", "780.57"]),
        "318": ("Tobacco use disorder", ["305.1", "V15.82"]),
    },
    "mental": {
        "296": ("Mood disorders", ["296.20", "296.30", "311"]),
        "300": ("Anxiety disorders", ["300.00", "300.02"]),
        "317": ("Alcohol-related disorders", ["303.90", "305.00"]),
        "316": ("Substance addiction", ["304.00", "304.90"]),
    },
    "musculoskeletal": {
        "740": ("Osteoarthrosis", ["715.00", "715.90"]),
        "743": ("Osteoporosis", ["733.00", "733.01"]),
        "760": ("Back pain", ["724.2", "724.5"]),
        "722": ("Intervertebral disc disorders", ["722.10", "722.52"]),
        "766": ("Neuralgia, neuritis and radiculitis", ["723.4", "729.2"]),
    },
}
# Illness of one system goes with that of another.
ALSO = {"circulatory": "endocrine", "respiratory": "circulatory"}

rng = random.Random(17)
with open("claims.csv", "w", newline="") as file:
    claims = csv.writer(file)
    claims.writerow(["patient", "icd9", "date"])
    for patient in range(1, 4001):
        ill: dict[str, bool] = {}
        any_claim = False
        for system, diseases in SYSTEMS.items():
            ill[system] = rng.random() < (0.45 if ill.get(ALSO.get(system, ""), False) else 0.2)
            for rank, (_, codes) in enumerate(diseases.values()):
                if rng.random() < (0.75 - 0.1 * rank if ill[system] else 0.05):
                    for _ in range(rng.randint(1, 3)):
                        date = f"20{rng.randint(18, 22)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
                        claims.writerow([patient, rng.choice(codes), date])
                        any_claim = True
        if rng.random() < 0.3 or not any_claim:
            claims.writerow([patient, "V70.0", f"2021-{rng.randint(1, 12):02}-11"])

with open("phecodes.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["icd9", "phecode", "description", "system"])
    for system, diseases in SYSTEMS.items():
        for phecode, (description, codes) in diseases.items():
            table.writerows([code, phecode, description, system] for code in codes)
