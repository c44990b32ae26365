"""The content of the pages: executed notebooks, code, and the harness's results for it."""

import base64
import concurrent.futures
import itertools
import re
import struct
import sys
from pathlib import Path

import jinja2
import nbconvert
import nbformat
import block
import documents
import model
import prenorm
import search
import tour
from files import put
from prenorm import panes, program, sides, sources
from prenorm.program import Count

sys.path.insert(0, str(prenorm.ROOT / "cuda"))
import ladders  # noqa: E402

HERE = Path(__file__).resolve().parent
# The reading order; other notebooks follow by name.
READING = ["00_start_here", "rmsnorm", "floating_point", "linear", "embedding", "activations", "feed_forward",
           "softmax", "rope", "attention", "multihead_self_attention", "transformer_block", "transformer_lm", "model",
           "cuda_without_a_gpu", "puzzles"]
# The titles of columns, in order; other solutions follow under their own names.
COLUMNS = {"reference": "reference", "fast": "fast", "plain": "textbook loop",
           "cuda-naive-emulated": "naive CUDA, emulated", "cuda-emulated": "CUDA, emulated",
           "cuda-naive": "naive CUDA", "cuda": "CUDA", "cuda-tf32": "CUDA, tf32"}
PICTURES = Path("pictures")  # of notebooks, in the site's folder


# results -----------------------------------------------------------------------------------------

def problems_of(components=None):
    """The problems of those of the names that are components; of all components if None."""
    found = []
    for problem in prenorm.problems():
        try:
            component = sources.component_of(problem)
        except ValueError:  # a fixture alone, without a reference
            continue
        if components is None or component in components:
            found.append(problem)
    return found


def ask(problems):
    """What Facts are made from, {problem: answers}: one run of `prenorm verify`, one of `prenorm
    mistakes`, and what `prenorm show` says of device records."""
    words = [word for problem in problems for word in ("--problem", problem)]
    verified, caught = program.report("verify", *words), program.report("mistakes", *words)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        devices = dict(zip(problems, pool.map(_on_devices, problems)))
    used = ("problem", "case", "dtype", "solution", "status", "message")
    return {problem: {"environment": verified["environment"], "devices": devices[problem],
                      "results": [{key: each[key] for key in used} for each in verified["results"]
                                  if each["problem"] == problem],
                      "mistakes": [each for each in caught["variants"] if each["problem"] == problem]}
            for problem in problems}


class Facts:
    """The state of every problem, from the harness's answers (`ask`). Some have none; some are older
    than `inputs`, which the newer ones have."""

    def __init__(self, answers, inputs):
        self.problems = problems_of()
        answers = {problem: answers[problem] for problem in self.problems if problem in answers}
        self.older = [problem for problem, each in answers.items() if each["inputs"] != inputs]
        self.missing = [problem for problem in self.problems if problem not in answers]
        newest = sorted(answers, key=self.older.__contains__)
        self.environment = answers[newest[0]]["environment"] if newest else {}
        results = [result for each in answers.values() for result in each["results"]]
        self.left_out = sum(each["message"].startswith("large") for each in results)
        self._verdicts = program.Verdicts(results)
        ran = {each["solution"] for each in self._verdicts.results}
        self.solutions = [*(name for name in COLUMNS if name in ran), *sorted(ran - set(COLUMNS))]
        self._mistakes = program.counted([variant for each in answers.values()
                                          for variant in each["mistakes"]])
        self.devices = {problem: answers.get(problem, {}).get("devices", []) for problem in self.problems}

    def cells(self, problem):
        """A Count of passed cases for each solution."""
        return self._verdicts.cells(problem, self.solutions)

    def rows(self, problem):
        """What passes, one row per dtype: [(name, [Count])]."""
        return self._verdicts.rows(problem, self.solutions)

    def mistakes(self, problem):
        """The known mistakes of a problem, as program.counted() has them."""
        return [each for each in self._mistakes if each["problem"] == problem]

    def caught(self, problem):
        """How many of its mistakes at least one case catches."""
        mistakes = self.mistakes(problem)
        return Count(sum(each["caught"] for each in mistakes), len(mistakes))


def _on_devices(problem):
    """The device records: [(solutions with the same text, text)], without variants."""
    found = {}
    for each in program.report("show", problem)["devices"]:
        if "/" not in each["solution"]:
            found.setdefault(each["message"], []).append(each["solution"])
    return [(solutions, text) for text, solutions in found.items()]


# pages -------------------------------------------------------------------------------------------

class Site:
    """The pages of a folder.

    notebooks   all of them, {name: path}
    kept        {name: facts} of pages in the folder that stay as they are
    """

    def __init__(self, folder, facts, notebooks, kept):
        self.folder, self.facts = folder, facts
        components = dict.fromkeys(sources.component_of(problem) for problem in facts.problems)
        known = [name for name in READING if name in components]
        self.components = known + sorted(set(components) - set(known))
        there = [*self.components, *(name for name in notebooks if name not in self.components)]
        self.order = [name for name in READING if name in there]
        self.order += [name for name in there if name not in self.order]
        self.pages = dict(kept)
        self.documents = documents.find(prenorm.ROOT)
        self.texts = {}  # pages to write: name: the executed notebook, or None
        self.notebooks = notebooks

    def add_components(self):
        """Adds a page for each component that has no notebook."""
        for component in self.components:
            if component not in self.notebooks:
                self.add(component, None, None)

    def add(self, name, notebook, failure):
        """Adds a page to write; `notebook` is the text of the executed one, or None."""
        notebook = nbformat.reads(notebook, as_version=4) if notebook else None
        self.pages[name] = {"file": f"{name}.html", "title": _take_title(notebook, name),
                            "failure": failure}
        self.texts[name] = notebook

    def manifest(self):
        return {name: self.pages[name] for name in self._names()}

    def _names(self):
        return [name for name in self.order if name in self.pages]

    def write(self):
        for name in self.texts:
            self._write(self.pages[name]["file"], "page.html.j2", **self._page(name))
        self._write_documents()
        self._write("index.html", "index.html.j2", **self._index())
        self._write_tour()
        search.write(self.folder)

    def _write_documents(self):
        notebooks = {Path(f"notebooks/{name}.ipynb"): page["file"] for name, page in self.pages.items()}
        documents.render(prenorm.ROOT, self.documents, self.folder, notebooks)
        around = [None, *self.documents, None]
        for before, document, after in zip(around, self.documents, around[2:]):
            self._write(document.file, "document.html.j2", document=document,
                        documents=self.documents, previous=before, next=after)
        for old in self.folder.glob(documents.PREFIX + "*.html"):
            if old.name not in [document.file for document in self.documents]:
                old.unlink()

    def _write_tour(self):
        self._write("tour.html", "tour.html.j2", steps=tour.steps(), drawing=block.drawing(), rows=tour.ROWS,
                    sizes=model.record()["model"], prompt=tour.PROMPT, notebook=self.pages.get("model"))
        put(self.folder / "assets/trained_model.js", tour.trained_model())

    def _write(self, file, template, **values):
        """A page, whose links to pages that the site does not have are text."""
        there = {page["file"] for page in self.pages.values()}
        absent = "|".join(re.escape(f"{name}.html") for name in self.order if f"{name}.html" not in there)
        text = self._render(template, **values)
        if absent:
            text = re.sub(rf'<a\b[^>]*\bhref="(?:{absent})(?:#[^"]*)?"[^>]*>(.*?)</a>', r"\1", text, flags=re.S)
        put(self.folder / file, text)

    def _render(self, template, **values):
        loader = jinja2.FileSystemLoader(HERE)
        environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True,
                                         lstrip_blocks=True, undefined=jinja2.StrictUndefined)
        return environment.get_template(template).render(
            facts=self.facts, columns=[COLUMNS.get(s, s) for s in self.facts.solutions],
            dtypes=prenorm.DTYPES, **values)

    def _page(self, name):
        names = self._names()
        place = names.index(name)
        problems = [self._problem(problem) for problem in sources.problems_of(name)
                    ] if name in self.components else []
        notebook = self.texts[name]
        body = _body(notebook) if notebook else ""
        body = _without_repeats(self._with_picture_files(name, body), problems)
        return {"name": name, "page": self.pages[name], "body": body,
                "headings": re.findall(r'<h2 id="([^"]+)">(.*?)(?:<a class="anchor-link"|</h2>)',
                                       body),
                "problems": problems,
                "counts": _counts(name, problems) if name in ladders.TOLD else None,
                "passed": _total(cell for each in problems for cell in each["cells"]),
                "caught": _total(each["caught"] for each in problems),
                "ladder": next((each["ladder"] for each in problems if each["ladder"]), ""),
                "laws": any(each["laws"] for each in problems),
                "previous": self.pages[names[place - 1]] if place else None,
                "next": self.pages[names[place + 1]] if place + 1 < len(names) else None}

    def _with_picture_files(self, name, body):
        """With a notebook's pictures in files, which a browser loads as it reaches them."""
        numbers = itertools.count(1)

        def store(found):
            file = PICTURES / f"{name}-{next(numbers)}.png"
            png = base64.b64decode(found[1])
            put(self.folder / file, png)
            # The size leaves room for it: the text does not move when the picture comes.
            width, height = struct.unpack(">II", png[16:24])
            return f'loading="lazy" width="{width}" height="{height}" src="{file.as_posix()}"'

        body = re.sub(r'src="data:image/png;base64,([^"]*)"', store, body)
        for old in (self.folder / PICTURES).glob(f"{name}-*.png"):
            if f'"{old.relative_to(self.folder).as_posix()}"' not in body:
                old.unlink()
        return body

    def _problem(self, problem):
        fixture = prenorm.fixture(problem)
        versions = sources.versions(problem)
        view = (sides.side_by_side(problem, name=f"-{problem}").markup if versions else
                _without_style(panes.alone(sources.function_source(problem))))
        mistakes = self.facts.mistakes(problem)
        return {"name": problem, "signature": fixture.signature, "source": fixture.source,
                "cases": len(fixture.cases), "view": view,
                "ladder": str(sources.ladder(problem)) if versions else "", "rows": self.facts.rows(problem),
                "cells": self.facts.cells(problem), "devices": self.facts.devices[problem],
                "laws": sources.laws(problem),
                "mistakes": mistakes,
                "wrong": _code_of_mistakes(problem, [each["name"] for each in mistakes]),
                "caught": self.facts.caught(problem)}

    def _title(self, name):
        """That of a page which is not made yet."""
        path = self.notebooks.get(name)
        return _take_title(nbformat.read(path, as_version=4) if path else None, name)

    def _index(self):
        rows = [{"name": component, "page": self.pages.get(component),
                 "title": (self.pages.get(component) or {}).get("title") or self._title(component),
                 "problems": [{"name": problem, "cells": self.facts.cells(problem),
                               "formula": prenorm.fixture(problem).source.split(";")[0],
                               "device": _on_a_device(self.facts.devices[problem]),
                               "caught": self.facts.caught(problem)}
                              for problem in sources.problems_of(component)]}
                for component in self.components]
        others = [self.pages[name] for name in self._names() if name not in self.components]
        failed = [page for page in self.manifest().values() if page["failure"]]
        problems = [problem for row in rows for problem in row["problems"]]
        guides = [document for document in self.documents if document.path.parts[0] == "docs"]
        return {"rows": rows, "on_devices": _total(each["device"][0] for each in problems if each["device"]),
                "others": others, "failed": failed, "guides": guides,
                "drawing": block.drawing(), "totals": [_total(cells) for cells in zip(*(p["cells"] for p in problems))],
                "caught": _total(problem["caught"] for problem in problems)}


def _on_a_device(devices):
    """Of `cuda`, from its device record: a Count of passed cases, and where and when; None without one."""
    text = next((text for solutions, text in devices if "cuda" in solutions), "")
    found = re.match(r"recorded (\d+)/(\d+) passed on (.*)", text)
    return found and (Count(int(found[1]), int(found[2])), found[3])


def _counts(component, problems):
    """What each version does to memory: tables of all shapes in one dtype, and two requests."""
    profiles = ladders.Profiles(prenorm.ROOT / "cuda")
    told = ladders.TOLD[component]
    dtype = told[0].rpartition(" ")[2]
    shapes = [shape for problem in problems for shape in profiles.of_problem(problem["name"])
              if shape.endswith(dtype)]
    return {"columns": list(ladders.COLUMNS), "heading": profiles.heading(told[0]),
            "tables": [{"heading": profiles.heading(shape),
                        "rows": [(version.name, version.cells)
                                 for version in profiles.versions(shape, component)]}
                       for shape in shapes],
            "pictures": [(version.name, picture.read_text())
                         for version, picture in profiles.pictures(component)]}


def _words(name):
    """"feed_forward" as a title: "Feed forward"."""
    return re.sub(r"^\d+ ", "", name.replace("_", " ")).capitalize()


def _code_of_mistakes(problem, names):
    """All of them as one listing, because they share most of their code."""
    found = [sources.function_source(problem, f"mistakes/{name}") for name in names]
    pieces = sorted({piece for each in found for piece in each.pieces},
                    key=lambda piece: (piece.path, piece.first))
    calls = dict(call for each in found for call in each.calls)
    own = {name for piece in pieces for name in piece.names}
    calls = tuple((name, piece) for name, piece in calls.items() if name not in own)
    listing = sources.Source(problem, "mistakes", tuple(pieces), calls)
    return _without_style(panes.alone(listing))


def _total(counts):
    counts = list(counts)
    return Count(sum(each.passed for each in counts), sum(each.given for each in counts))


# notebooks ---------------------------------------------------------------------------------------

def _take_title(notebook, name):
    """The title of a notebook, which is removed from it: the page shows it separately."""
    for cell in notebook.cells if notebook else []:
        title = re.match(r"\s*# +(.+?)\s*(?:\n|$)", cell.source)
        if cell.cell_type == "markdown" and title:
            cell.source = cell.source[title.end():]
            return title[1]
    return _words(name)


def _body(notebook):
    """An executed notebook as HTML."""
    _describe_pictures(notebook)
    for cell in notebook.cells:
        if cell.source.startswith(("%%cpp", "%%writefile")):
            cell.metadata["magics_language"] = "cpp"  # the colours' language
        if cell.source.startswith("%%writefile"):
            cell.outputs = []  # "Writing map.cu"
    exporter = nbconvert.HTMLExporter(template_name="basic",
                                      template_file=str(HERE / "cells.html.j2"),
                                      exclude_input_prompt=True, exclude_output_prompt=True)
    text, _ = exporter.from_notebook_node(notebook)
    text = re.sub(r'(href="(?!\w+:)[^"#]+)\.ipynb(?=["#])', r"\1.html", _without_style(text))
    return text


def _without_repeats(body, problems):
    """Without those folded helpers of a notebook's panes that the page's own panes hold too."""
    for block in set(re.findall(r"<details><summary>What it calls in other files.*?</details>", body,
                                re.S)):
        holding = [problem["name"] for problem in problems if block in problem["view"]]
        if holding:
            body = body.replace(block, f'<p class="file"><a href="#code-{holding[0]}">What it calls '
                                       "in other files</a></p>")
    return body


def _describe_pictures(notebook):
    """Gives each picture an alternative text: the heading above it, and its number there."""
    heading, number = "", 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for found in re.findall(r"^#+ +(.+)$", cell.source, re.M):
                heading, number = re.sub(r"[`*$\\]", "", found), 0
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                number += 1
                text = f"Picture {number} of: {heading}" if heading else f"Picture {number}"
                output.metadata.setdefault("image/png", {}).setdefault("alt", text)


def _without_style(text):
    """Without the style that views contain: pages have it once."""
    return text.replace(panes.style(), "")
