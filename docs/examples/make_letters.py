"""Makes letters/, 600 made-up letters to a newspaper as text files, and letters.csv, the same with the day on which each was sent."""

import csv
import random
from pathlib import Path

TOPICS = {
    "space": "rocket orbit nasa moon launch satellite crew",
    "health": "doctor disease patients medicine hospital nurse treatment",
    "sport": "goal season team coach match stadium players",
    "music": "guitar band album concert singer stage song",
    "schools": "teacher pupils school lessons classroom exams homework",
    "traffic": "road cars bridge cyclists traffic parking bus",
}
COMMON = "people time year town week money news question idea day".split()
GLUE = ["the", "a", "and", "of", "in", "to", "that", "is", "was", "for", "with", "it", "this", "we", "I", "not"]
chance = random.Random(1)
folder = Path("letters")
folder.mkdir(exist_ok=True)
with open("letters.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["letter", "sent", "text"])
    for letter in range(1, 601):
        year = 2019 + (letter - 1) // 100
        # Letters about traffic became more frequent when the bridge was closed in 2022.
        weights = [3 if topic == "traffic" and year >= 2022 else 1 for topic in TOPICS]
        first = chance.choices(list(TOPICS), weights)[0]
        second = chance.choice(list(TOPICS))
        words = []
        for _ in range(chance.randint(30, 90)):
            draw = chance.random()
            if draw < 0.45:
                words.append(chance.choice(GLUE))
            elif draw < 0.65:
                words.append(chance.choice(COMMON))
            else:
                words.append(chance.choice(TOPICS[first if chance.random() < 0.85 else second].split()))
        text = " ".join(words).capitalize() + "."
        (folder / f"{letter:03}.txt").write_text(text + "\n")
        table.writerow([letter, f"{year}-{chance.randint(1, 12):02}-15", text])
