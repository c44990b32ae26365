"""The documentation as pages of the site: docs/*.md, and the Markdown files that they link to."""

import html
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from files import copy
from nbconvert.filters import markdown2html

# The reading order; others follow by name.
READING = ["install", "commands", "study", "verdicts", "fixtures", "grading", "teaching", "sandbox",
           "diagnosis", "cuda", "profile", "performance", "extending", "architecture"]
PREFIX = "docs_"  # of the pages' names, which no notebook has
PICTURES = Path("assets/docs")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)[^)]*\)")


@dataclass
class Document:
    """A page of documentation. `path` is relative to the root of the checkout or installation."""

    path: Path
    title: str = ""
    body: str = ""
    headings: list = field(default_factory=list)  # of the second level: (id, HTML)

    @property
    def file(self):
        """"docs_verdicts.html" of docs/verdicts.md, "docs_fixtures_README.html" of
        fixtures/README.md."""
        name = self.path.relative_to("docs") if self.path.parts[0] == "docs" else self.path
        return PREFIX + "_".join(name.with_suffix(".html").parts)


def anchor(heading):
    """The anchor of a heading, in HTML or Markdown, as GitHub makes it."""
    text = html.unescape(re.sub(r"<[^>]+>|`", "", heading)).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def find(root):
    """The pages of documentation: those in docs/ in reading order, then what they link to."""
    ours = {path.stem: Path("docs") / path.name for path in sorted((root / "docs").glob("*.md"))}
    first = [name for name in READING if name in ours]
    paths = [ours[name] for name in (*first, *sorted(set(ours) - set(first)))]
    for path in paths:  # which grows
        for target in LINK.findall((root / path).read_text()):
            linked = _resolve(path, target)
            if (linked.suffix == ".md" and linked != Path("README.md") and linked not in paths
                    and (root / linked).exists()):
                paths.append(linked)
    return [Document(path) for path in paths]


def render(root, documents, folder, pages):
    """Renders the documents, and copies their pictures into the site's folder. `pages` are the site's
    pages of notebooks, {path: file}."""
    files = {document.path: document.file for document in documents} | {Path("README.md"): "index.html"}
    files |= pages
    for document in documents:
        text = re.sub(r"<!--.*?-->\n?", "", (root / document.path).read_text(), flags=re.S)
        body = _with_anchors(markdown2html(text))
        title = re.search(r"<h1[^>]*>(.*?)<a class=\"anchor-link\".*?</h1>", body)
        document.title = html.unescape(re.sub(r"<[^>]+>", "", title[1]))
        body = body.replace(title[0], "", 1)
        body = re.sub(r'<a href="([^"#]+)(#[^"]*)?">(.*?)</a>',
                      lambda link: _link(link, document.path, files), body, flags=re.S)
        body = re.sub(r'<img src="([^"]+)"',
                      lambda found: f'<img src="{_picture(root, document.path, found[1], folder)}"', body)
        # A wide table scrolls inside itself.
        body = body.replace("<table>", '<div class="scroll" role="region" aria-label="Table" '
                            'tabindex="0">\n<table>').replace("</table>", "</table>\n</div>")
        document.body = body
        document.headings = re.findall(r'<h2 id="([^"]+)">(.*?)<a class="anchor-link"', body)


def _resolve(path, target):
    return Path(os.path.normpath(path.parent / target))


def _with_anchors(body):
    """With GitHub's anchors in the place of nbconvert's."""
    seen = {}

    def heading(found):
        name = anchor(found[2])
        seen[name] = seen.get(name, -1) + 1
        name += f"-{seen[name]}" if seen[name] else ""
        return (f'<h{found[1]} id="{name}">{found[2]}'
                f'<a class="anchor-link" href="#{name}" aria-label="Link to this section">&#182;</a>'
                f"</h{found[1]}>")

    return re.sub(r'<h(\d) id="[^"]*">(.*?)<a class="anchor-link"[^>]*>.*?</a></h\d>', heading, body)


def _link(found, path, files):
    """A link to another page of the site, or to the web; of a link to a source, the text."""
    target, place, text = found.groups()
    if re.match(r"\w+:", target):
        return found[0]
    page = files.get(_resolve(path, target))
    return f'<a href="{page}{place or ""}">{text}</a>' if page else text


def _picture(root, path, source, folder):
    picture = root / _resolve(path, source)
    copy(picture, folder / PICTURES / picture.name)
    return (PICTURES / picture.name).as_posix()
