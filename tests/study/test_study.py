# labels: notebooks slow
# timeout: 2400
"""The site that `prenorm study` builds: every notebook runs, and every page works in a browser.

Screenshots of all pages are left in PRENORM_PAGE_DIR.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import unquote

import lxml.html
import pytest

import ladders
from disks import on_small_disk
from places import ROOT, found_some

IN_ONE_PART = True
NOTEBOOKS = ROOT / "notebooks"
PROBLEMS = sorted(path.stem for path in (ROOT / "fixtures").glob("*.h5"))
LOOKS = {"light": {"width": 1440}, "dark": {"width": 1440, "dark": True},
         "narrow": {"width": 360, "height": 800}, "narrow_dark": {"width": 360, "dark": True}}


def study(program, *words, **options):
    return subprocess.run([str(program), "study", *map(str, words)], capture_output=True, text=True,
                          timeout=1100, **options)


@pytest.fixture(scope="module")
def built(program, tmp_path_factory):
    """The whole site: (folder, the finished command)."""
    folder = tmp_path_factory.mktemp("study") / "site"
    return folder, study(program, "--output", folder)


@pytest.fixture(scope="module")
def site(built):
    folder, done = built
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return found_some(site.glob("*.html"))


@pytest.fixture(scope="module")
def shots(site):
    folder = Path(os.environ.get("PRENORM_PAGE_DIR") or site.parent / "shots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# ---- without a browser

def parse(path):
    return lxml.html.fromstring(path.read_text())


def broken_links(folder):
    """Links that lead nowhere, and what pages load from outside their folder."""
    parsed = {path.name: parse(path) for path in found_some(folder.glob("*.html"))}
    found = []
    for name, page in parsed.items():
        for link in page.xpath("//a/@href"):
            if re.match(r"(https?|mailto):", link):
                continue  # the address of a paper, say: a browser does not load it
            file, _, anchor = link.partition("#")
            target = parsed.get(file or name)
            if target is None:
                found.append(f"{name}: {link}: no such page")
            elif anchor and unquote(anchor) not in target.xpath("//@id"):
                found.append(f"{name}: {link}: no such place")
        for loaded in page.xpath("(//link|//script|//img|//iframe|//source)/@*[name()='href' or "
                                 "name()='src']"):
            if not loaded.startswith("data:") and not (folder / loaded).is_file():
                found.append(f"{name}: loads {loaded[:60]}")
    return found


def test_every_notebook_runs_without_complaint(site, built):
    done = built[1]
    assert done.stdout.splitlines()[-1] == str(site / "index.html")
    for path in found_some(NOTEBOOKS.glob("*.ipynb")):
        text = (site / f"{path.stem}.html").read_text()
        assert f"{path.name}: " in done.stderr
        assert 'class="failure"' not in text
        assert "output_stderr" not in text and "output_error" not in text, path.name
        folded, shown = (["plt.subplots" in cell.text_content() for cell in parse(
            site / f"{path.stem}.html").xpath(f"//{tag}[@class='code']")] for tag in ("details", "div"))
        assert all(folded) and not any(shown), f"{path.name}: what is folded is not the code of pictures"


def test_links_hold(site):
    assert broken_links(site) == []


def test_a_broken_link_would_be_seen(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"></p><a href="#here">x</a><a href="#there">x</a><a href="b.html">x</a>'
        '<img src="https://127.0.0.1/x.png"><img src="data:,">')
    assert len(broken_links(tmp_path)) == 3


def test_pages_are_accessible(pages):
    for path in pages:
        page = parse(path)
        assert page.get("lang") == "en" and page.findtext(".//title"), path.name
        ids = page.xpath("//@id")
        assert len(ids) == len(set(ids)), sorted(each for each in ids if ids.count(each) > 1)
        levels = [int(each.tag[1]) for each in page.iter("h1", "h2", "h3", "h4", "h5", "h6")]
        assert levels.count(1) == 1 and levels[0] == 1, path.name
        assert all(b <= a + 1 for a, b in zip(levels, levels[1:])), (path.name, levels)
        assert all(each.get("alt") for each in page.iter("img")), f"{path.name}: no alt text"


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_problem_has_both_codes_results_and_mistakes(site, problem):
    holding = [path for path in site.glob("*.html") if f'id="code-{problem}"' in path.read_text()]
    assert len(holding) == 1
    text = holding[0].read_text()
    view = text.split(f'id="code-{problem}"')[1].split("</section>")[0]
    left, right = view.split('<div class="right">')
    files = [re.findall(r'<p class="file">([^/]+)/', side) for side in (left, right)]
    assert set(files[0]) == {"reference"} and set(files[1]) == {"cuda"}
    assert right.count('class="tab ') >= 2 and right.count('<div class="pane"') >= 2
    assert "naive" in right and "launched" in right and "cuda/" in right
    results = text.split(f'id="results-{problem}"')[1].split("</tbody>")[0]
    assert results.count('class="count all"') >= 16  # four solutions, each dtype
    wrong = text.split(f'id="mistakes-{problem}"')[1].split("</section>")[0]
    assert 'class="count plain"' in wrong and "reference/mistakes/" in wrong
    index = (site / "index.html").read_text()
    assert f"{holding[0].name}#code-{problem}" in index
    row = index.split(f"#code-{problem}")[1].split("</tr>")[0]
    assert row.count('class="count all"') >= 5 and "device" in row


def test_every_component_tells_its_traffic_and_draws_a_request(site):
    seen, profiles = set(), ladders.Profiles()
    for path in site.glob("*.html"):
        page = parse(path)
        problems = {each.removeprefix("code-") for each in page.xpath("//section/@id")
                    if each.startswith("code-")}
        if not problems:
            continue
        section, = page.xpath("//section[@class='counts']")
        captions = section.xpath(".//caption/text()")
        shapes = [each.partition(":")[0].replace(",", "") for each in captions]
        assert {profiles.shapes[each]["problem"] for each in shapes} == problems, path.name
        for table in section.xpath(".//table"):
            versions = table.xpath(".//tbody/tr/th/text()")
            assert versions[0] == "v1" and len(versions) >= 2, (path.name, versions)
        for figure, version in zip(section.xpath(".//figure"), ("v1", versions[-1]), strict=True):
            assert figure.xpath("./figcaption/text()") == [version]
            picture, = figure.xpath("./svg[@role='img']")
            assert "global" in picture.findtext("title") and "sector" in picture.findtext("desc")
        seen |= problems
    assert seen == set(PROBLEMS)


def test_pictures_that_cells_draw_are_whole(site):
    pictures = parse(site / "cuda_without_a_gpu.html").xpath("//div[@class='output_svg']/svg")
    assert len(pictures) == 2
    for picture in pictures:
        assert picture.findtext("title").startswith("normalize, step")
        assert len(picture.xpath(".//path")) > 8 and len(picture.xpath(".//text")) > 32


def test_the_puzzles_come_next_and_show_what_their_starts_cost(site):
    links = parse(site / "cuda_without_a_gpu.html").xpath("//a[@rel='next']/@href")
    assert set(links) == {"puzzles.html"}
    titles = parse(site / "puzzles.html").xpath("//div[@class='output_svg']/svg/title/text()")
    kernels = [title.partition(",")[0] for title in titles]
    assert kernels == ["broadcast", "shared", "reduction", "shuffle", "coalescing", "banks", "scan", "product",
                       "softmax", "attention"]


# ---- in a browser

def show(chromium, path):
    """Opens a page, and waits until its fonts are loaded and its layout is done."""
    chromium.open(path.resolve().as_uri())
    settle(chromium)


def settle(chromium):
    """Waits until fonts are loaded, and what the last event has changed is drawn."""
    chromium.ask("Runtime.evaluate", awaitPromise=True, expression="document.fonts.ready.then("
                 "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 20))))")


def middle(chromium, expression):
    """Where an element is, once it is in the window."""
    chromium.value(f"({expression}).scrollIntoView({{block: 'center', inline: 'nearest'}})")
    box = f"({expression}).getBoundingClientRect()"
    return {"x": chromium.value(f"{box}.left + Math.min({box}.width, 60) / 2"),
            "y": chromium.value(f"{box}.top + {box}.height / 2")}


def click(chromium, expression):
    chromium.click(**middle(chromium, expression))


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_opens_without_complaint_and_asks_for_nothing_else(chromium, pages, site, shots,
                                                                      look):
    chromium.look(**LOOKS[look])
    inside = site.resolve().as_uri() + "/"
    for path in pages:
        show(chromium, path)
        assert chromium.complaints == [], path.name
        assert [address for address in chromium.requests
                if not address.startswith((inside, "data:image/"))] == [], path.name
        # Wide elements scroll inside themselves.
        beside = chromium.value(
            "document.documentElement.scrollWidth <= innerWidth ? '' :"
            "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right"
            " > innerWidth && !e.closest('.scroll, pre, .pane, .output_html, .katex-display'))"
            ".slice(0, 3).map(e => e.outerHTML.slice(0, 200)).join('\\n') || 'something'")
        assert beside == "", f"{path.name}: wider than the window:\n{beside}"
        if look == "narrow_dark":  # as the narrow ones and the dark ones look
            continue
        shot = chromium.screenshot()
        assert shot.startswith(b"\x89PNG") and len(shot) > 10000
        (shots / f"{path.stem}_{look}.png").write_bytes(shot)


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_no_code_is_cut_off(chromium, pages, width):
    chromium.look(width=width)
    for path in share(pages, 4):
        show(chromium, path)
        assert chromium.value("[...document.querySelectorAll('.pane')].filter("
                              "e => e.scrollWidth > e.clientWidth).length") == 0, path.name


def test_pages_are_small(pages):
    large = {path.name: path.stat().st_size for path in pages if path.stat().st_size > 1e6}
    assert large == {}


def test_the_tour_goes_from_step_to_step_by_keyboard(chromium, site):
    chromium.look(width=1440)
    show(chromium, site / "tour.html")
    shown = "[...document.querySelectorAll('.tour-step')].filter(e => !e.hidden).map(e => e.id)"
    names = chromium.value("[...document.querySelectorAll('.tour-step')].map(e => e.id)")
    assert chromium.value(shown) == names[:1]
    for name in [*names[1:], names[-1]]:
        chromium.key("ArrowRight", 39)
        settle(chromium)
        assert chromium.value(shown) == [name]
        assert chromium.value("document.querySelectorAll('svg [aria-current]').length") == (
            chromium.value(f"document.querySelectorAll('svg [href=\"#{name}\"]').length"))
    chromium.key("ArrowLeft", 37)
    settle(chromium)
    assert chromium.value(shown) == names[-2:-1]
    click(chromium, "document.getElementById('all')")
    assert chromium.value(shown) == names
    assert chromium.complaints == []


def test_the_tour_computes_with_the_readers_text(chromium, site):
    chromium.look(width=1440)
    show(chromium, site / "tour.html")
    chromium.value("location.hash = 'learned'")
    settle(chromium)
    text, weights = "document.getElementById('learned-text')", "document.getElementById('learned-weights')"
    typed = "Mavo has a red key. Lisu has a blue cup. Mavo gives the red key to L"
    chromium.value(f"{text}.value = '{typed}', {text}.dispatchEvent(new Event('input'))")
    assert chromium.value("document.querySelector('#learned-next th').textContent") == "i"
    assert chromium.value(f"{weights}.innerText").replace("\n", "") == "↵" + typed.replace(" ", "␣")
    click(chromium, "document.getElementById('learned-write')")
    assert chromium.value(f"{text}.value") == typed + "isu."
    click(chromium, f"{weights}.querySelector('button:nth-child(3)')")
    assert chromium.value(f"{weights}.querySelector('[aria-current]').title").startswith("weight ")
    assert chromium.value(f"{weights}.lastChild.title") == "later: masked"
    assert chromium.complaints == []


def test_search_by_keyboard(chromium, site):
    chromium.look(width=1440)
    show(chromium, site / "index.html")
    chromium.key("/", 191, "/")
    assert chromium.value("document.activeElement.type") == "search"
    chromium.ask("Input.insertText", text="rmsnorm side")
    found = "[...document.querySelectorAll('#search li a')].map(e => e.getAttribute('href'))"
    # First what holds both words itself, then what is on a page of that title.
    assert chromium.value(found) == [
        f"rmsnorm.html#{each}" for each in ("code-rmsnorm", "The-reference,-beside-kernels", "side-by-side",
                                            "mistakes-rmsnorm")]
    chromium.key("ArrowDown", 40)
    assert chromium.value("document.activeElement.localName") == "a"
    chromium.key("Escape", 27)
    assert chromium.value("document.querySelector('#search ul').hidden")
    chromium.ask("Input.insertText", text="no such thing")
    assert chromium.value("document.querySelector('#search ul').textContent") == "Nothing found"
    searchable = (site / "assets/search_index.js").read_text()
    links = {link for _, _, link in json.loads(searchable.removeprefix("const searchIndex = ")
                                               .rstrip(";\n"))}
    assert links and all((site / link.split("#")[0]).exists() for link in links)


def test_dark_and_light_differ(chromium, site):
    colours = []
    for dark in (False, True):
        chromium.look(dark=dark)
        show(chromium, site / "rmsnorm.html")
        colours.append([chromium.value(
            f"getComputedStyle(document.querySelector('{each}')).backgroundColor")
            for each in ("body", ".pane", ".code .highlight")])
    assert all(light != dark for light, dark in zip(*colours)), colours


def test_formulae_are_typeset(chromium, pages):
    chromium.look()
    for path in pages:
        if not (NOTEBOOKS / f"{path.stem}.ipynb").exists():
            continue
        show(chromium, path)
        assert chromium.value("document.querySelectorAll('.katex-error').length") == 0, path.name
        source = json.loads((NOTEBOOKS / f"{path.stem}.ipynb").read_text())
        text = "".join("".join(cell["source"]) for cell in source["cells"]
                       if cell["cell_type"] == "markdown")
        if "$" in text:
            assert chromium.value("document.querySelectorAll('.katex').length") > 0, path.name
        left = chromium.value(
            "[...document.querySelectorAll('.prose')].map(e => { const c = e.cloneNode(true);"
            "c.querySelectorAll('code, pre, .katex').forEach(x => x.remove());"
            "return c.textContent }).join(' ')")
        assert "$" not in left and "\\frac" not in left, f"{path.name}: TeX as it was written"
    fonts = chromium.value("[...document.fonts].filter(f => f.status == 'error').length")
    assert fonts == 0


def views(chromium, pages):
    """Opens the pages one after the other, and names each view of two panes in turn."""
    chromium.look(width=1440)
    for path in share(pages, 4):
        show(chromium, path)
        for i in range(chromium.value("document.querySelectorAll('.both').length")):
            yield f"document.querySelectorAll('.both')[{i}]"


def test_panes_switch_by_click_and_by_keyboard(chromium, pages):
    seen = 0
    for view in views(chromium, pages):
        shown = (f"[...{view}.querySelectorAll('.right > .pane')]"
                 ".map(p => p.getBoundingClientRect().height > 0).indexOf(true)")
        last = chromium.value(f"{view}.querySelectorAll('.tab').length") - 1
        assert chromium.value(shown) == 0
        click(chromium, f"{view}.querySelectorAll('label')[{last}]")
        assert chromium.value(shown) == last
        chromium.key("ArrowLeft", 37)
        assert chromium.value(shown) == last - 1
        chromium.key("ArrowRight", 39)
        assert chromium.value(shown) == last
        seen += 1
    assert seen == sum(f'id="code-{problem}"' in path.read_text()
                       for path in share(pages, 4) for problem in PROBLEMS)


def test_a_step_lights_up_on_both_sides(chromium, pages):
    """Of every problem, on every version: what is pointed at on the left lights the right."""
    without = []
    for view in views(chromium, pages):
        problem = chromium.value(f"{view}.id").removeprefix("code-")
        steps = chromium.value(f"{view}.querySelectorAll('.step').length")
        if not steps:
            without.append(problem)
        for step in range(steps):
            lines = f"{view}.querySelectorAll('.left [data-step~=\"{step}\"]')"
            if not chromium.value(f"{lines}.length"):
                continue  # a step that only a later version has
            for what in (f"{lines}[0]", f"{view}.querySelectorAll('.step')[{step}]"):
                place = middle(chromium, what)
                chromium.ask("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
                before = lit(chromium, view, step)
                chromium.ask("Input.dispatchMouseEvent", type="mouseMoved", **place)
                after = lit(chromium, view, step)
                assert not any(before.values()), (problem, step, before)
                assert after["left"] and after["right"] and not after["others"], (
                    problem, step, what, place, after)
                assert comes_into_sight(chromium, view), (problem, step, what)
    assert without == [], "no steps"


def comes_into_sight(chromium, view):
    """Whether the right pane shows a lit line, after time to scroll."""
    for _ in range(30):
        if chromium.value(f"""[...{view}.querySelectorAll('.right pre.code > span')].some(e => {{
              const line = e.getBoundingClientRect();
              const pane = e.closest('.pane').getBoundingClientRect();
              return line.height > 0 && line.bottom > pane.top && line.top < pane.bottom &&
                     getComputedStyle(e).backgroundColor !=
                         getComputedStyle(e.parentElement).backgroundColor }})"""):
            return True
        time.sleep(0.1)
    return False


def lit(chromium, view, step):
    """How many lines are lit: of the step in the left pane, of the step in the right pane that is
    shown, and of no step."""
    return chromium.value(f"""(() => {{
      const plain = getComputedStyle({view}.querySelector('pre.code')).backgroundColor;
      const lit = e => getComputedStyle(e).backgroundColor != plain &&
                       e.getBoundingClientRect().height > 0;
      const count = s => [...{view}.querySelectorAll(s)].filter(lit).length;
      return {{left: count('.left [data-step~="{step}"]'),
               right: count('.right [data-step~="{step}"]'),
               others: count('pre.code > span:not([data-step])')}};
    }})()""")


def test_the_keyboard_reaches_what_the_mouse_does(chromium, site):
    chromium.look(width=1440)
    show(chromium, site / "rmsnorm.html")
    chromium.key("Tab", 9)
    assert chromium.value("document.activeElement.className") == "skip"
    assert chromium.value("document.activeElement.getBoundingClientRect().left") >= 0
    chromium.key("Enter", 13, "\r")
    assert chromium.value("document.activeElement.id") == "content"
    found, outlines = set(), set()
    for _ in range(400):
        chromium.key("Tab", 9)
        if chromium.value("document.activeElement == document.body"):
            break
        found.add(chromium.value("document.activeElement.closest('.both')?.id ?? ''") + " " +
                  chromium.value("document.activeElement.className || "
                                 "document.activeElement.localName"))
        outlines.add(chromium.value("getComputedStyle(document.activeElement).outlineStyle"))
    for wanted in ("code-rmsnorm tab t0", "code-rmsnorm step s0", "code-rmsnorm pane", " summary",
                   " a", " scroll"):
        assert wanted in found, found
    assert "none" not in outlines, outlines


def test_the_focus_lights_a_step_too(chromium, site):
    chromium.look(width=1440)
    show(chromium, site / "rmsnorm.html")
    view = "document.querySelector('.both')"
    chromium.value(f"{view}.querySelector('.step').focus()")
    found = lit(chromium, view, 0)
    assert found["left"] and found["right"]


# ---- what goes wrong

def notebook(path, *cells):
    path.write_text(json.dumps({
        "cells": [{"cell_type": kind, "id": f"c{i}", "metadata": {}, "source": source,
                   **({"execution_count": None, "outputs": []} if kind == "code" else {})}
                  for i, (kind, source) in enumerate(cells)],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


def begin(out, site):
    """A site's folder without pages: what the whole site says of cases need not be found again."""
    out.mkdir()
    shutil.copy(site / "answers.json", out)
    (out / "pages.json").write_text(json.dumps({**json.loads((site / "pages.json").read_text()), "pages": {}}))


def test_a_notebook_that_fails_is_named_and_the_others_are_built(program, prefix, site, tmp_path):
    own, out = tmp_path / "notebooks", tmp_path / "site"
    own.mkdir()
    begin(out, site)
    notebook(own / "good.ipynb", ("markdown", "# A good one\n\n$a^2$, and [another](bad.ipynb)"),
             ("code", "import prenorm\nprenorm.load('reference').relu([-1.0, 2.0])"))
    notebook(own / "bad.ipynb", ("markdown", "# A bad one"), ("code", "x = 1"),
             ("code", "print('so far')\nraise ValueError('a reason\\nin two lines')"))
    done = study(program, "--notebooks", own, "--output", out)
    assert done.returncode == 1
    assert "bad.ipynb failed: cell 3 of 3: in two lines" in done.stderr
    assert re.search(r"good\.ipynb: \d", done.stderr)
    page, index = (out / "bad.html").read_text(), (out / "index.html").read_text()
    assert "cell 3 of 3: in two lines" in page and "so far" in page
    assert "cell 3 of 3" in index and "A good one" in index
    good = (out / "good.html").read_text()
    assert "array([0., 2.])" in good and 'href="bad.html"' in good
    assert broken_links(out) == []

    # After a fix only that notebook is executed, and the other page stays; by an installation, which
    # has all that it needs.
    variables = dict(os.environ)
    if Path("/proc/self/exe").exists():  # else a program does not know where it lies
        program = prefix / "bin/prenorm"
        variables.pop("PRENORM_HOME", None)
    before = sorted(prefix.rglob("*"))
    notebook(own / "bad.ipynb", ("markdown", "# A mended one"), ("code", "1 + 1"))
    (own / "good.ipynb").unlink()
    notebook(own / "good.ipynb", ("code", "raise SystemError"))
    done = study(program, "--notebooks", own, "--output", out, "--notebook", "bad", cwd=tmp_path,
                 env=variables)
    assert done.returncode == 0, done.stderr
    assert sorted(prefix.rglob("*")) == before
    assert done.stdout.strip() == str(out / "index.html")
    assert 'id="code-rmsnorm"' in (out / "rmsnorm.html").read_text()
    assert (out / "good.html").read_text() == good
    assert "A mended one" in (out / "index.html").read_text()
    assert "failed" not in (out / "index.html").read_text()


def executed(done):
    """The notebooks that a run executed."""
    assert done.returncode == 0, done.stderr
    return sorted(re.findall(r"^(\w+)\.ipynb: [0-9.]+ s$", done.stderr, re.M))


def test_only_what_changed_is_built_again(program, site, tmp_path):
    own, out = tmp_path / "notebooks", tmp_path / "site"
    own.mkdir()
    begin(out, site)
    for name in ("a", "b"):
        notebook(own / f"{name}.ipynb", ("markdown", f"# Page {name}"), ("code", "1 + 1"))
    build = ("--notebooks", own, "--output", out)
    assert executed(study(program, *build)) == ["a", "b"]

    def state():
        return {path: path.stat().st_mtime_ns for path in out.rglob("*")}

    before = state()
    done = study(program, *build)
    assert executed(done) == [] and "nothing has changed" in done.stderr
    assert done.stdout.strip() == str(out / "index.html") and state() == before
    # A changed notebook: its page alone.
    notebook(own / "b.ipynb", ("markdown", "# Page b"), ("code", "20 + 3"))
    assert executed(study(program, *build)) == ["b"]
    after = state()
    assert after[out / "a.html"] == before[out / "a.html"]
    assert after[out / "b.html"] != before[out / "b.html"]
    assert ">23<" in re.sub(r"\s", "", (out / "b.html").read_text())
    # A page that was removed, a notebook that is new, and one that is gone.
    (out / "a.html").unlink()
    notebook(own / "c.ipynb", ("markdown", "# Page c"), ("code", "2 + 2"))
    (own / "b.ipynb").unlink()
    assert {"a", "c"} <= set(executed(study(program, *build)))
    assert not (out / "b.html").exists() and "Page c" in (out / "a.html").read_text()
    assert executed(study(program, *build)) == []
    assert executed(study(program, *build, "--all")) == ["a", "c"]


def test_one_page_has_what_it_needs_and_no_dead_links(program, tmp_path):
    own, out = tmp_path / "notebooks", tmp_path / "site"
    own.mkdir()
    notebook(own / "softmax.ipynb", ("markdown", "# Soft maxima\n\nAs in [the other](rope.ipynb)."))
    notebook(own / "rope.ipynb", ("markdown", "# Rotary positions"))
    build = ("--notebooks", own, "--output", out, "--notebook")
    done = study(program, *build, "softmax")
    assert executed(done) == ["softmax"] and "known mistakes of softmax\n" in done.stderr
    assert broken_links(out) == [] and not (out / "rope.html").exists()
    index = (out / "index.html").read_text()
    assert "Rotary positions" in index and 'href="softmax.html"' in index
    assert "nothing has changed" in study(program, *build, "softmax").stderr
    done = study(program, *build, "rope")
    assert executed(done) == ["rope"] and "known mistakes of rope\n" in done.stderr
    assert broken_links(out) == [] and 'href="softmax.html"' in (out / "index.html").read_text()


def test_two_studies_do_not_write_one_folder(program, tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    done = study(program, "--output", tmp_path)
    os.close(folder)
    assert done.returncode == 2
    assert re.fullmatch(r".*--output \S+: another study writes there now\n", done.stderr)


def test_a_full_disk_is_told_in_one_line(program, tmp_path):
    done, files = on_small_disk(tmp_path, 256, program, "study", "--notebook", "softmax", "--output",
                                tmp_path / "disk/site")
    told = done.stderr.splitlines()
    assert done.returncode == 2 and "No space left on device" in told[-1], done.stderr
    assert "Traceback" not in done.stderr and not [name for name in files if name.endswith((".part", ".html"))]


def test_words_that_cannot_be_used(program, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for words, told in [(["--notebook", "no_such"], "no notebook no_such"),
                        (["--output", tmp_path], "holds something else"),
                        (["--output", tmp_path / "mine.txt"], "mine.txt"),
                        (["--output", tmp_path / "x", "--katex", tmp_path], "libjs-katex"),
                        (["--notebooks", tmp_path], "no notebooks"), (["--jobs", "0"], "--jobs"),
                        (["--no-such-word"], "--no-such-word")]:
        done = study(program, *words, cwd=tmp_path)
        assert done.returncode == 2 and told in done.stderr, (words, done.stderr)
        assert "Traceback" not in done.stderr
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mine.txt"]


def test_help_has_an_example(program, run):
    done = study(program, "--help", env={**os.environ, "PRENORM_LAUNCHER": "./prenorm"})
    assert done.returncode == 0 and "./prenorm study --notebook rmsnorm" in done.stdout
    assert all(len(line) <= 110 for line in done.stdout.splitlines())
    assert re.search(r"^  study ", run("--help").stdout, re.M)
