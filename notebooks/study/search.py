"""The index of the site's search: a script that holds the headings of all pages."""

import json
import re
from html import unescape

from files import put

HEADING = re.compile(r"<h([1-3])([^>]*)>(.*?)</h\1>", re.S)
ID = re.compile(r'\bid="([^"]+)"')


def entries(name, page):
    """What can be found in one page: [(text, title of the page, address)]."""
    found, title = [], ""
    for level, attributes, inner in HEADING.findall(page):
        text = _plain(inner)
        title = text if level == "1" else title
        place = ID.search(attributes)
        if level == "1":
            found.append((text, "", name))
        elif place:
            found.append((text, title, f"{name}#{place[1]}"))
    for place, problem in re.findall(r'<section class="both" id="([^"]+)">\s*<h3><code>(.*?)</code>',
                                     page):
        found.append((f"{problem}, side by side", title, f"{name}#{place}"))
    for place, body in re.findall(r'<section class="wrong" id="([^"]+)">(.*?)</table>', page, re.S):
        for mistake in re.findall(r'<td class="words"><b>(.*?)</b>', body):
            found.append((f"Mistake: {_plain(mistake)}", title, f"{name}#{place}"))
    return found


def write(folder):
    """Writes assets/search_index.js: a script, because pages opened from disk cannot fetch a file."""
    found = [entry for path in sorted(folder.glob("*.html"))
             for entry in entries(path.name, path.read_text())]
    put(folder / "assets/search_index.js", f"const searchIndex = {json.dumps(found)};\n")


def _plain(markup):
    """The text of a heading, without its link to itself."""
    markup = re.sub(r'<a class="anchor-link".*?</a>', "", markup, flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", "", markup)).split())
