"""Makes posts.csv, the words of 3,000 made-up posts: a post is about a topic, often about another of the same field too."""

import random

FIELDS = {
    "science": {"space": "rocket orbit nasa moon", "health": "doctor disease patients medicine"},
    "leisure": {"sport": "goal season team coach", "music": "guitar band album concert"},
    "machines": {"computer": "windows disk driver memory", "cars": "engine wheel brake car"},
}
chance = random.Random(0)
with open("posts.csv", "w") as file:
    file.write("post,word\n")
    for post in range(1, 3001):
        topics = FIELDS[chance.choice(list(FIELDS))]
        about = [topic for topic in topics if chance.random() < 0.6]
        for field in FIELDS.values():
            for topic, words in field.items():
                for word in words.split():
                    if chance.random() < (0.5 if topic in about else 0.03):
                        file.write(f"{post},{word}\n")
        for word in ("people", "time"):
            if chance.random() < 0.5:
                file.write(f"{post},{word}\n")
