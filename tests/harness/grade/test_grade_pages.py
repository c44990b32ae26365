# labels: unit
# slow labels: unit
"""Reports from outside: pages in a browser, JUnit's XML against its schema.

Pages of hand-made gradings and classes (gradings.py, overviews.py) are left in PRENORM_PAGE_DIR.
"""

import os
import re
import subprocess
import xml.etree.ElementTree

import pytest

from conftest import folder, slow_but
from gradings import BY_HAND, render
from overviews import CLASSES
from places import ROOT

PAGES = list(BY_HAND)
LOOKS = {
    "light": {},
    "dark": {"dark": True},
    "narrow": {"width": 360, "height": 800},
    "narrow_dark": {"width": 360, "height": 800, "dark": True},
    "printed": {"printed": True},
}


def write_whole(path, text):
    """For grade_pages and grade_pages_slow, which may run at once and share the folder."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text)
    os.replace(part, path)


@pytest.fixture(scope="module")
def pages():
    made = folder("PRENORM_PAGE_DIR")
    made.mkdir(parents=True, exist_ok=True)
    for name, made_by_hand in BY_HAND.items():
        for form, ending in (("html", "html"), ("junit", "xml")):
            write_whole(made / f"{name}.{ending}", render(made_by_hand(), form))
    for name, made_by_hand in CLASSES.items():
        write_whole(made / f"{name}.html", render(made_by_hand(), "class"))
    return made


def opened(chromium, pages, page, **look):
    chromium.look(**look)
    chromium.open((pages / f"{page}.html").resolve().as_uri())


# The quick tier looks at the page of a grading once, and at the worst of either kind.
QUICK = {("ordinary", "light"), ("hostile", "dark"), ("class_hostile", "narrow")}


@pytest.mark.parametrize("page, look", [
    pytest.param(page, look, marks=[pytest.mark.slow] * ((page, look) not in QUICK))
    for page in [*PAGES, *CLASSES] for look in LOOKS])
def test_a_page_opens_without_complaint_and_asks_for_nothing_else(chromium, pages, page, look):
    chromium.look(**LOOKS[look])
    address = (pages / f"{page}.html").resolve().as_uri()
    chromium.open(address)
    assert chromium.complaints == []
    assert chromium.requests == [address]
    assert chromium.value("document.title")
    assert chromium.value("document.images.length") == 0
    assert chromium.value("document.scripts.length") == (1 if page in CLASSES else 0)
    # Nothing stands beside the window, however narrow it is and however long the words.
    assert chromium.value("document.documentElement.scrollWidth <= innerWidth")
    shot = chromium.screenshot()
    assert shot.startswith(b"\x89PNG") and len(shot) > 5000
    (pages / f"{page}_{look}.png").write_bytes(shot)


def test_a_complaint_would_be_seen(chromium, tmp_path):
    """The browser's ears: an error on the console, and a picture that is asked for."""
    bad = tmp_path / "bad.html"
    bad.write_text("<script>console.error('x'); no_such_name()</script><img src='other.png'>")
    chromium.open(bad.as_uri())
    assert len(chromium.complaints) >= 2
    assert (tmp_path / "other.png").as_uri() in chromium.requests


@pytest.mark.parametrize("name", ["ordinary", "class_5"])
def test_the_policy_of_a_page_stops_what_an_escape_might_miss(chromium, pages, tmp_path, name):
    page = (pages / f"{name}.html").read_text()
    bad = tmp_path / "bad.html"
    bad.write_text(page.replace("<main>", "<main><script>document.title = 'taken'</script>"
                                "<img src='https://127.0.0.1:9/x.png'>", 1))
    chromium.open(bad.as_uri())
    assert chromium.value("document.title") != "taken"
    assert len([each for each in chromium.complaints if "Content Security" in str(each)]) >= 2
    # The page of a class runs its own script.
    buttons = chromium.value("document.querySelectorAll('.students thead button').length")
    assert (buttons > 0) == (name in CLASSES)


def test_the_keyboard_opens_a_case_and_follows_links(chromium, pages):
    opened(chromium, pages, "ordinary")
    assert chromium.value("[...document.querySelectorAll('.items a')]"
                          ".every(a => document.querySelector(a.getAttribute('href')))")
    closed = "document.querySelectorAll('details.case:not([open])')"
    before = chromium.value(f"{closed}.length")
    chromium.value(f"{closed}[0].querySelector('summary').focus()")
    chromium.key("Enter", 13, "\r")
    assert before > 0 and chromium.value(f"{closed}.length") == before - 1


def test_failing_cases_are_printed_with_what_they_hold(chromium, pages):
    opened(chromium, pages, "ordinary")
    height = "document.querySelector('details.case:not([open])').getBoundingClientRect().height"
    on_screen = chromium.value(height)
    chromium.look(printed=True)
    assert chromium.value(height) > 3 * on_screen
    assert chromium.pdf().startswith(b"%PDF")


# ---- The page of a class

@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("page", ["class_300_of_1", "class_300_of_20", "class_hostile"])
def test_names_and_heads_stay_where_the_table_scrolls(chromium, pages, page, width):
    opened(chromium, pages, page, width=width, height=800)
    place = """(selector => {
        const box = document.querySelector('.students');
        box.scrollTo(0, 0);
        const at = () => {
            const seen = document.querySelector(selector).getBoundingClientRect();
            return [seen.left, seen.top];
        };
        const before = at();
        box.scrollTo(1e6, 1e6);
        const after = at();
        return [before[0] - after[0], before[1] - after[1], box.scrollLeft, box.scrollTop];
    })"""
    x, y, right, down = chromium.value(f"{place}('.students thead th')")
    assert abs(x) < 1 and abs(y) < 1
    x, y, _, _ = chromium.value(f"{place}('.students tbody th')")
    assert abs(x) < 1 and abs(y - down) < 1
    if page == "class_300_of_20":
        assert down > 1000 and (right > 100 or width > 360)
    # Half of a narrow window is left for points.
    wide = chromium.value("document.querySelector('.students tbody th').offsetWidth")
    assert wide <= width / 2


@pytest.mark.parametrize("page", slow_but({"class_1", "class_300_of_20", "class_hostile"}, CLASSES))
@pytest.mark.parametrize("width", [360, 1280])
def test_texts_of_the_histogram_stand_apart_and_within(chromium, pages, page, width):
    opened(chromium, pages, page, width=width)
    boxes = chromium.value("""[...document.querySelectorAll('.histogram span')].filter(
        text => text.textContent).map(text => {
        const box = text.getBoundingClientRect();
        return [text.textContent, box.left, box.top, box.right, box.bottom];
    })""")
    graded = chromium.value("[...document.querySelectorAll('dt')].find(dt => "
                            "dt.textContent == 'graded').nextSibling.textContent")
    assert bool(boxes) == (graded != "0")
    if not boxes:
        return
    frame = chromium.value("""(() => {
        const box = document.querySelector('.histogram').getBoundingClientRect();
        return [box.left, box.top, box.right, box.bottom];
    })()""")
    for i, (text, left, top, right, bottom) in enumerate(boxes):
        assert frame[0] <= left and right <= frame[2] and frame[1] - 1 <= top and bottom <= frame[3]
        for other, *box in boxes[:i]:
            # Lines of text have air above and below; 3 pixels of it may be shared.
            apart = right <= box[0] or box[2] <= left or bottom - 3 <= box[1] or box[3] - 3 <= top
            assert apart, (text, other)


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("page", ["class_300_of_20", "class_linked", "class_hostile"])
def test_no_row_needs_three_lines(chromium, pages, page, width):
    opened(chromium, pages, page, width=width)
    rows = chromium.value("""[...document.querySelectorAll('.students tbody tr')].map(row => {
        const style = getComputedStyle(row.cells[0]);
        const frame = ['paddingTop', 'paddingBottom', 'borderTopWidth', 'borderBottomWidth']
            .reduce((sum, each) => sum + parseFloat(style[each]), 0);
        return (row.offsetHeight - frame) / parseFloat(style.lineHeight);
    })""")
    assert len(rows) >= 3 and max(rows) < 2.5, max(rows)
    # What has no room is told where the mouse is.
    assert chromium.value("""[...document.querySelectorAll('.who')].every(
        who => who.title.startsWith(who.querySelector('bdi').textContent.replace(/\\.{3}$/, '')))""")


def column(chromium, number):
    return chromium.value("[...document.querySelectorAll('.students tbody tr')].map("
                          f"row => row.cells[{number}].textContent.trim())")


def test_columns_sort_by_their_heads(chromium, pages):
    opened(chromium, pages, "class_linked")
    before = column(chromium, 0)
    heads = chromium.value("[...document.querySelectorAll('.students thead th')].map("
                           "head => head.textContent)")
    total, late = len(heads) - 3, len(heads) - 2
    assert heads[total].startswith("total") and heads[late] == "days late"

    def press(number):
        chromium.value(f"document.querySelectorAll('.students thead button')[{number}].click()")
        return column(chromium, number)

    def numbers(texts):
        known = [float(text) for text in texts if text != "–"]
        assert texts[len(known):] == ["–"] * (len(texts) - len(known))
        return known

    for number in (total, late):
        down = numbers(press(number))
        assert down == sorted(down, reverse=True) and len(set(down)) > 2
        assert chromium.value("document.querySelector('[aria-sort]').cellIndex") == number
        up = numbers(press(number))
        assert up == sorted(down)
    names = press(0)
    assert sorted(names) == sorted(before) and names != before
    assert names[0].startswith("Ada") and press(0)[-1].startswith("Ada")
    assert chromium.value("document.querySelectorAll('[aria-sort]').length") == 1
    # The keyboard reaches heads.
    chromium.value("document.querySelectorAll('.students thead button')[1].focus()")
    chromium.key("Enter", 13, "\r")
    assert chromium.value("document.querySelector('[aria-sort]').cellIndex") == 1
    assert chromium.complaints == []


def test_a_row_opens_the_student_s_page(chromium, pages):
    (pages / "pages").mkdir(exist_ok=True)
    (pages / "pages/student_2.html").write_text("<title>The second</title>")
    opened(chromium, pages, "class_linked")
    place = chromium.value("""(() => {
        const row = document.querySelectorAll('.students tbody tr')[1];
        row.scrollIntoView({block: 'center'});
        const box = row.cells[2].getBoundingClientRect();
        return [box.left + box.width / 2, box.top + box.height / 2];
    })()""")
    chromium.follow(*place)
    assert chromium.value("document.title") == "The second"


def test_without_scripts_rows_are_in_the_roster_s_order(chromium, pages):
    chromium.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        opened(chromium, pages, "class_linked")
        assert chromium.value("document.querySelectorAll('.students thead button').length") == 0
        assert chromium.value("document.querySelectorAll('.students tbody a').length") > 30
        assert column(chromium, 0)[0].startswith("Ada")
    finally:
        chromium.ask("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.slow
def test_a_class_is_printed_with_all_its_rows(chromium, pages):
    height = "document.querySelector('.students').getBoundingClientRect().height"
    opened(chromium, pages, "class_300_of_20")
    assert chromium.value(height) < 900
    # As wide as a page of Letter across, with its margins of 10 mm.
    chromium.look(width=979, printed=True)
    assert chromium.value(height) > 5000
    assert chromium.value("document.documentElement.scrollWidth") <= 979
    pdf = chromium.pdf()
    assert pdf.startswith(b"%PDF")
    (pages / "class_300_of_20.pdf").write_bytes(pdf)


@pytest.mark.parametrize("dark", [False, True])
def test_texts_of_a_class_stand_out_from_what_is_behind(chromium, pages, dark):
    """The contrast that WCAG wants, 4.5, of every colour in the table; zebra lines included."""
    opened(chromium, pages, "class_300_of_20", dark=dark)
    pairs = chromium.value("""[...new Set([...document.querySelectorAll(
            '.students td, .students th, .students .hand, .students .quiet')].map(cell => {
        const style = getComputedStyle(cell);
        const behind = getComputedStyle(cell.closest('td, th')).backgroundColor;
        return [style.color, behind, style.opacity].join('|');
    }))]""")
    assert len(pairs) >= 8

    def numbers(colour):
        return [float(part) for part in re.findall(r"[0-9.]+", colour)[:3]]

    def light(colour):
        linear = [c / 12.92 if c <= .04045 else ((c + .055) / 1.055) ** 2.4
                  for c in (part / 255 for part in colour)]
        return sum(weight * c for weight, c in zip((.2126, .7152, .0722), linear))

    for pair in pairs:
        colour, behind, opacity = pair.split("|")
        front, back, share = numbers(colour), numbers(behind), float(opacity)
        mixed = [share * a + (1 - share) * b for a, b in zip(front, back)]
        high, low = sorted((light(mixed), light(back)), reverse=True)
        assert (high + .05) / (low + .05) >= 4.5, pair


@pytest.mark.slow
def test_the_page_of_a_real_grading(chromium, program, home, tmp_path):
    """A mistake, handed in as a solution: told by its name, with maps and no complaint."""
    mistake = home / "lib/prenorm/libprenorm_mistakes.so/no_eps"
    done = subprocess.run([program, "grade", mistake, "--problem", "rmsnorm", "--fixtures",
                           ROOT / "fixtures", "--html", tmp_path / "page.html"],
                          capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    chromium.look()
    address = (tmp_path / "page.html").as_uri()
    chromium.open(address)
    assert chromium.complaints == [] and chromium.requests == [address]
    assert "Looks like no eps (all " in chromium.value("document.body.innerText")
    # Of 8 cases, each with the map of the mistake that explains it.
    assert chromium.value("document.querySelectorAll('svg.map').length") == 16
    assert (tmp_path / "page.html").stat().st_size < 2_000_000


# ---- JUnit's XML

@pytest.fixture(scope="module")
def valid():
    etree = pytest.importorskip("lxml.etree")
    schema = etree.XMLSchema(etree.parse(str(ROOT / "tests/harness/grade/junit.xsd")))

    def check(text):
        return [str(error) for error in schema.error_log] if not schema.validate(
            etree.fromstring(text)) else []
    return check


@pytest.mark.parametrize("page", PAGES)
def test_junit_follows_the_schema(pages, valid, page):
    assert valid((pages / f"{page}.xml").read_bytes()) == []


def test_junit_of_verify_follows_the_schema(program, valid, tmp_path):
    for solution, code in [("reference", 0), ("mistakes/no_eps", 1)]:
        out = tmp_path / "junit.xml"
        done = subprocess.run([program, "verify", "--problem", "rmsnorm", "--fixtures",
                               ROOT / "fixtures", "--solution", solution, "--junit", out],
                              capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert valid(out.read_bytes()) == []
        root = xml.etree.ElementTree.parse(out).getroot()
        assert (int(root.get("failures")) > 0) == (code == 1)


def test_junit_of_a_damaged_file_follows_the_schema(program, valid, tmp_path):
    (tmp_path / "bad.h5").write_bytes(b"no HDF5")
    out = tmp_path / "junit.xml"
    subprocess.run([program, "verify", "--fixtures", tmp_path / "bad.h5", "--solution", "reference",
                    "--junit", out], capture_output=True)
    assert valid(out.read_bytes()) == []
    assert b"<error" in out.read_bytes()


@pytest.mark.parametrize("damage", [
    ('time="', 'time="1,'), ("<failure ", "<fault "), ('classname="', 'class="'),
    ('<testsuites name="', '<testsuites skipped="0" name="'), ('tests="', 'tests="-')])
def test_the_schema_refuses_what_is_damaged(pages, valid, damage):
    text = (pages / "compile_error.xml").read_text()
    assert damage[0] in text
    assert valid(text.replace(*damage).replace("</failure>", "</fault>" if "fault" in damage[1] else
                                               "</failure>").encode()) != []
