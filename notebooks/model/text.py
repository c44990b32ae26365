"""Writes the text that the model learns: short stories, all by this program, so that anybody may ship them.

In a story people with invented names have things, give them away and sing; it ends with questions whose
answers it holds. Names and songs are new in each story, so whoever predicts the next byte has to look back.
Same seed, same text; for that, no draw depends on the order of a set or a dict.
"""

import math
import random

COLOURS = "red blue green black white".split()
THINGS = "lamp coin key book bell cup map ring".split()
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


class Writer:
    """Draws from a seeded generator, and adds up the information of its choices in nats."""

    def __init__(self, seed):
        self.random, self.nats = random.Random(seed), 0.0

    def one(self, options):
        self.nats += math.log(len(options))
        return options[self.random.randrange(len(options))]

    def different(self, count, draw):
        """So many different results of a function, in the order drawn."""
        found = []
        while len(found) < count:
            if (drawn := draw()) not in found:
                found.append(drawn)
        return found

    def syllable(self):
        return self.one(CONSONANTS) + self.one(VOWELS)

    def name(self):
        return (self.syllable() + self.syllable()).capitalize()

    def song(self):
        """Nonsense, sung twice."""
        words = " ".join(self.syllable() for _ in range(self.one((3, 4, 5))))
        return f"{words}, {words}!"

    def story(self):
        """A paragraph: who has what, what they do, a question or two."""
        names = self.different(self.one((2, 3)), self.name)
        things = [f"{self.one(COLOURS)} {thing}" for thing in self.different(len(names), lambda: self.one(THINGS))]
        owner = dict(zip(things, names))
        told = [f"{name} has a {thing}." for thing, name in owner.items()]
        singer = None
        for _ in range(self.one((1, 2))):
            if singer is None and self.one(("sing", "give")) == "sing":
                singer = self.one(names)
                told.append(f"{singer} sings: {self.song()}")
            else:
                thing = self.one(things)
                giver, owner[thing] = owner[thing], self.one([name for name in names if name != owner[thing]])
                told.append(f"{giver} gives the {thing} to {owner[thing]}.")
        for _ in range(self.one((1, 2))):
            if singer is not None and self.one(("who has", "who sings")) == "who sings":
                told.append(f"Who sings? {singer} sings.")
            else:
                thing = self.one(things)
                told.append(f"Who has the {thing}? {owner[thing]} has it.")
        return " ".join(told) + "\n"


def stories(seed, size):
    """At least `size` bytes of stories, and the information of their choices in nats per byte: the loss
    of a predictor that knows this program and reads its choices off the text."""
    writer, parts, length = Writer(seed), [], 0
    while length < size:
        parts.append(writer.story())
        length += len(parts[-1])
    text = "".join(parts).encode("ascii")
    return text, writer.nats / len(text)


def prompts():
    """20 beginnings to compare implementations on: of stories that the model has not read, and of anything."""
    lines = stories(2, 3000)[0].decode().splitlines()
    return ["a", "  ", "Zz? 7", "naïve €", "\n" * 150] + [f"\n{line[:7 * i]}" for i, line in enumerate(lines[:15], 1)]


if __name__ == "__main__":
    print(stories(0, 2000)[0].decode())
