"""Classes that tests make by hand, as the overviews that `render` makes pages of."""

from gradings import EVIL, LONG

NAMES = """linear embedding rmsnorm silu swiglu rope softmax scaled_dot_product_attention
multihead_self_attention transformer_block multihead_self_attention_with_rope gelu relu log_softmax
cross_entropy layernorm cosine_schedule gradient_clipping adamw_step data_loader""".split()


def part(name, points):
    return {"name": name, "problems": [name], "points": points, "earned": 0, "full": 0, "rows": 0}


def empty(count=1, **members):
    """A class that has handed in nothing."""
    parts = [part(name, 2.5 if i % 4 == 3 else 1 + i % 2) for i, name in enumerate(NAMES[:count])]
    return {"gradebook": "grades.sqlite", "rubric": "cs336-2025",
            "title": "CS336 2025, assignment 1: the parts of the Transformer block", "items": parts,
            "points": sum(each["points"] for each in parts), "rows": [], "mistakes": [],
            "histogram": [0] * 10, "mean": 0, "median": 0, "deadline": None} | members


def points_of(earned, **members):
    return {"earned": earned, "set_by_hand": False, "graded": earned, "why": ""} | members


def add(made, name, shares, **members):
    """Adds a student with these shares of the items' points."""
    number = len(made["rows"])
    shares = [shares[i % len(shares)] for i in range(len(made["items"]))]
    earned = [item["points"] * share for item, share in zip(made["items"], shares)]
    passed = shares.count(1)
    made["rows"].append({
        "submission": f"student_{number + 1}", "name": name, "id": str(20250000 + number * 37),
        "email": "", "handed_in": None, "outdated": False, "absent": False, "graded": True,
        "counted": True, "points": [points_of(each) for each in earned], "total": sum(earned),
        "passed": passed, "failed": len(shares) - passed, "skipped": 0, "flags": [], "page": ""} | members)


def add_absent(made, name):
    """One who handed in nothing."""
    add(made, name, [0], graded=False, counted=False, failed=0, absent=True,
        flags=["nothing handed in"])


def set_by_hand(row, item, points, why):
    row["total"] += points - row["points"][item]["earned"]
    row["points"][item] |= {"earned": points, "set_by_hand": True, "why": why}
    row["flags"].append("set by hand")


def counted_up(made):
    """With what follows from the rows."""
    for i, item in enumerate(made["items"]):
        for row in made["rows"]:
            if row["counted"] and i < len(row["points"]):
                item["earned"] += row["points"][i]["earned"]
                item["full"] += row["points"][i]["earned"] >= item["points"]
                item["rows"] += 1
    totals = sorted(row["total"] for row in made["rows"] if row["graded"])
    for total in totals:
        made["histogram"][min(9, int(10 * total / made["points"]))] += 1
    if totals:
        middle = totals[len(totals) // 2] + totals[(len(totals) - 1) // 2]
        made |= {"mean": sum(totals) / len(totals), "median": middle / 2}
    return made


def one_student():
    made = empty(1)
    add(made, "Ada Lovelace", [1])
    return counted_up(made)


def five_students():
    made = empty(6, mistakes=[
        {"problem": "rmsnorm", "mistake": "no_eps", "submissions": 2, "lost": 1},
        {"problem": "rmsnorm", "mistake": "eps_outside_of_the_root", "submissions": 1, "lost": 1.5}])
    add(made, "Ada Lovelace", [1])
    add(made, "Alan Turing", [1, 1, .5, 0, 1, 1])
    add(made, "Grace Hopper", [1, 0, .5, 0, 1, 0])
    set_by_hand(made["rows"][2], 1, 1.5, "eps was told wrongly in the lecture of 3 May")
    add_absent(made, "Emmy Noether")
    add(made, "", [0], id="", flags=["COMPILE_ERROR", "not in the roster"])
    return counted_up(made)


def large(items, students=300):
    """Most do well, some nothing, each kind of flag."""
    made = empty(items)
    first = ["Ada", "Björk", "Chidi", "Dorothea", "Émile", "Fatima", "Giovanni", "Hyun-woo", "Ingrid",
             "João Pedro"]
    last = ["Okonkwo", "van der Meer", "Nguyễn", "O'Brien", "Schmidt",
            "Fernández de la Vega y Ortega-Villanueva", "李", "Ivanova"]
    state = 7

    def draw(below):
        nonlocal state
        state = (state * 1664525 + 1013904223) % 2**32
        return (state >> 16) % below

    for i in range(students):
        name = first[i % len(first)] + " " + last[draw(8)]
        if i % 41 == 40:
            add_absent(made, name)
            continue
        skill = draw(10) + 1
        shares = [1 if draw(10) < skill else 0 if draw(2) == 0 else .5 for _ in range(items)]
        add(made, name, [0] if i % 67 == 5 else shares)
        row = made["rows"][-1]
        if i % 67 == 5:
            row["flags"] = ["SANDBOX_VIOLATION", "graded by an earlier rubric"]
        if i % 50 == 3:
            row["flags"] = ["graded with other limits"]
        if i % 90 == 7:
            set_by_hand(row, 0, .75, "handed in late, by a day")
            row["flags"].append("not graded: the grader was killed by signal 9 while it was built")
    words = ["halves_instead_of_neighbours", "no_scale", "wrong_axis", "mask_inverted",
             "transposed_weight", "one_step_late", "mean_instead_of_sum"]
    known = set()
    for count in range(students // 5, 0, -2):
        made_it = NAMES[draw(items)], words[draw(7)]
        if made_it not in known:
            known.add(made_it)
            made["mistakes"].append(dict(zip(("problem", "mistake"), made_it), submissions=count,
                                         lost=count))
    return counted_up(made)


def nobody_graded():
    made = empty(6)
    for name in ("Ada Lovelace", "Alan Turing"):
        add_absent(made, name)
    return counted_up(made)


def full_marks():
    made = empty(6)
    for i in range(40):
        add(made, f"Student {i + 1}", [1])
    return counted_up(made)


def without_roster():
    """Submissions alone: no roster says who they are."""
    made = large(6, 12)
    for row in made["rows"]:
        row |= {"name": "", "id": "", "email": ""}
    return made


def linked():
    """With a page for each who is graded, and a deadline that some have missed."""
    made = large(6, 40)
    made["deadline"] = 1791244740
    for i, row in enumerate(made["rows"]):
        if row["graded"]:
            row["page"] = f"pages/{row['submission']}.html"
            row["handed_in"] = None if i % 7 == 3 else made["deadline"] + i % 5 * 50000 - 60000
    return made


def hostile():
    """Everything that can come from outside is hostile, and very long."""
    made = empty(1, gradebook=LONG, rubric=LONG, title=LONG, items=[part(LONG, 1), part(EVIL, 2)],
                 points=3, mistakes=[{"problem": problem, "mistake": mistake, "submissions": count,
                                      "lost": 1}
                                     for problem, mistake, count in
                                     ((LONG, LONG, 2), (LONG, EVIL, 1), (EVIL, LONG, 1))])
    for i in range(3):
        text = EVIL if i else LONG
        points = [points_of(.5, set_by_hand=True, graded=0, why=LONG), points_of(0)]
        add(made, text, [0], submission=text, id=text, email=text, flags=[LONG, EVIL],
            points=points[:1] if i == 1 else points, total=.5, failed=0)
    made["rows"][2]["name"] = "\u202eevoL adA\u202c, שלום سلام"
    return counted_up(made)


CLASSES = {"class_0": lambda: empty(1), "class_0_of_20": lambda: empty(20), "class_1": one_student,
           "class_5": five_students, "class_300_of_1": lambda: large(1),
           "class_300_of_20": lambda: large(20), "class_ungraded": nobody_graded,
           "class_full_marks": full_marks, "class_no_roster": without_roster,
           "class_linked": linked, "class_hostile": hostile}
