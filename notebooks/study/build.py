"""Builds the site of the notebooks: all of them executed, every component's code side by side, what
passes and which mistakes are caught. `prenorm study` runs it; see --help.

Pages are files that need no server, no network and, except for the formulae, no script.
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from files import copy, put

HERE = Path(__file__).resolve().parent
NOTEBOOKS = HERE.parent
ROOT = NOTEBOOKS.parent  # the checkout, or an installation's share/prenorm
KATEX = Path("/usr/share/javascript/katex")
PACKAGES = "python3-nbconvert python3-ipykernel python3-matplotlib python3-pandas python3-h5py"
PROGRAM = os.environ.get("PRENORM_LAUNCHER") or "prenorm"
MANIFEST = "pages.json"  # the pages of the folder, for a later run
ANSWERS = "answers.json"  # of the harness, for a later run
EVERY = float(os.environ.get("PRENORM_PROGRESS_SECONDS") or 60) or 1  # seconds between two lines of progress


class Unusable(Exception):
    """An argument, a file or a machine that cannot be used: one line, exit code 2."""


def words(arguments):
    is_checkout = (ROOT / "CMakeLists.txt").exists()
    output = ROOT / "build/study" if is_checkout else Path("study")
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} study", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Executes the notebooks and makes a site of them: a page for each component\n"
                    "with its reference and its kernels side by side, and an index.",
        epilog=f"Examples:\n"
               f"  {PROGRAM} study                       the whole site, some minutes; then what changed\n"
               f"  {PROGRAM} study --notebook rmsnorm    one page, if it would change; the others stay as they are\n\n"
               "Exit code: 0 the site is complete, 1 a notebook failed (its page says where),\n"
               "2 an argument or file that cannot be used")
    parser.add_argument("--output", metavar="DIR", type=Path, default=output,
                        help="where the site goes (default: build/study in the checkout, else "
                             "./study)")
    parser.add_argument("--notebook", metavar="NAME", action="append", default=[],
                        help="make only this page; others stay as they are (may be repeated)")
    parser.add_argument("--all", action="store_true",
                        help="execute each of them (default: those whose page would change)")
    parser.add_argument("--notebooks", metavar="DIR", type=Path, default=NOTEBOOKS,
                        help="where the notebooks are (default: those of prenorm)")
    parser.add_argument("--jobs", metavar="N", type=int, default=len(os.sched_getaffinity(0)),
                        help="notebooks at a time (default: the number of processors)")
    parser.add_argument("--katex", metavar="DIR", type=Path, default=KATEX,
                        help=f"where KaTeX is (default: {KATEX})")
    chosen = parser.parse_args(arguments)
    if chosen.jobs < 1:
        parser.error(f"--jobs is {chosen.jobs}, wanted 1 or more")
    return chosen


# folders -----------------------------------------------------------------------------------------

def find_notebooks(folder, wanted):
    """The notebooks of a folder, {name: path}, and the names of those to execute."""
    found = {path.stem: path for path in sorted(folder.glob("*.ipynb"))}
    if not found:
        raise Unusable(f"{folder}: no notebooks there")
    chosen = [Path(word).name.removesuffix(".ipynb") for word in wanted] or list(found)
    for name in chosen:
        if name not in found:
            raise Unusable(f"no notebook {name} in {folder}: {', '.join(found)}")
    return found, list(dict.fromkeys(chosen))


def open_folder(folder):
    """Makes the folder of the site, and keeps other studies out until this one ends; what an earlier
    run wrote of it: {"pages": {name: facts}, ...}."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
        manifest = folder / MANIFEST
        if manifest.exists():
            earlier = json.loads(manifest.read_text())
            return {**earlier, "pages": dict(earlier["pages"])}
        is_ours = not any(folder.iterdir())
    except BlockingIOError:
        raise Unusable(f"--output {folder}: another study writes there now") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unusable(f"--output {folder}: {getattr(error, 'strerror', None) or error}") from None
    if not is_ours:
        raise Unusable(f"--output {folder}: the folder holds something else; wanted one that is "
                       "new, empty, or from an earlier study")
    return {"pages": {}}


def write_manifest(folder, **facts):
    put(folder / MANIFEST, json.dumps(facts, indent=1) + "\n")


def find_katex(folder):
    """The files of KaTeX that pages load, without fonts."""
    found = [folder / name for name in ("katex.min.css", "katex.min.js", "contrib/auto-render.js")]
    if not all(path.exists() for path in (*found, folder / "fonts")):
        raise Unusable(f"there is no KaTeX in {folder} (Debian: libjs-katex)")
    return found


def copy_assets(folder, katex):
    """Styles, scripts and fonts: all that the pages load."""
    assets = folder / "assets"
    for path in find_katex(katex):
        copy(path, assets / "katex" / path.name)
    for path in sorted((katex / "fonts").glob("*.woff2")) or sorted((katex / "fonts").iterdir()):
        copy(path, assets / "katex/fonts" / path.name)
    for path in (*HERE.glob("*.css"), *HERE.glob("*.js"), NOTEBOOKS / "prenorm/sides.css"):
        copy(path, assets / path.name)


# notebooks ---------------------------------------------------------------------------------------

def environment(home, scratch):
    """The environment of kernels: one thread each, no settings of the reader's."""
    found = {**os.environ, "PRENORM_HOME": str(home), "PYTHONPATH": str(NOTEBOOKS),
             "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
             "PYTHONDONTWRITEBYTECODE": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1",
             "IPYTHONDIR": str(scratch / "ipython"), "JUPYTER_RUNTIME_DIR": str(scratch / "run"),
             "MATPLOTLIBRC": os.devnull, "PYTHONHASHSEED": "0"}
    found.pop("MPLBACKEND", None)
    return found


def execute(path, variables):
    """Executes a notebook: its text, why it failed or None, and its time in seconds."""
    if not Path(variables["IPYTHONDIR"]).parent.exists():
        return path.read_text(), "interrupted", 0  # the main process has ended
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # messages of kernels
    os.environ.clear()
    os.environ.update(variables)
    import nbclient
    import nbformat
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class OwnKernel(AsyncKernelManager):
        """This interpreter; kernels that the reader installed are ignored."""

        def _kernel_spec_manager_default(self):
            manager = KernelSpecManager(parent=self)
            manager.kernel_dirs = []
            return manager

    begun = time.monotonic()
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=600, startup_timeout=600, kernel_name="python3",
        kernel_manager_class=OwnKernel,
        resources={"metadata": {"path": str(path.parent)}})
    failure = None
    try:
        client.execute()
    except Exception as error:  # of a cell, or of the kernel
        failure = told(notebook, error)
    return nbformat.writes(notebook), failure, time.monotonic() - begun


def told(notebook, error):
    """"cell 7 of 24: ValueError: ..."; the last line of the error."""
    for number, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                last = (f"{output.ename}: {output.evalue}".strip().splitlines() or [""])[-1]
                return f"cell {number} of {len(notebook.cells)}: {last[:300]}"
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[-1][:300] if lines else 'no message'}"


def execute_all(paths, variables, jobs):
    """Executes several notebooks at a time; (name, result of execute()), as they finish."""
    longest_first = sorted(paths, key=lambda path: -path.stat().st_size)
    context = multiprocessing.get_context("spawn")  # its own kernel and process for each notebook
    with concurrent.futures.ProcessPoolExecutor(min(jobs, len(paths)), mp_context=context) as pool:
        running = {pool.submit(execute, path, variables): path for path in longest_first}
        try:
            for future in concurrent.futures.as_completed(running):
                path = running[future]
                try:
                    answer = future.result()
                except Exception as error:  # not a notebook, or its process has died
                    answer = path.read_text(), f"{type(error).__name__}: {error}", 0
                report(path, *answer[1:])
                yield path.stem, answer
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextlib.contextmanager
def saying(line):
    """Prints line() on standard error about once a minute for as long as the work in its block takes."""
    done = threading.Event()

    def say():
        while not done.wait(EVERY):
            print(line(), file=sys.stderr, flush=True)

    thread = threading.Thread(target=say)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def report(path, failure, seconds):
    if failure:
        print(f"{path.name} failed: {failure}", file=sys.stderr)
    else:
        print(f"{path.name}: {seconds:.1f} s", file=sys.stderr)


# the site ----------------------------------------------------------------------------------------

def build(chosen):
    """Builds the site; the exit code."""
    folder = chosen.output.resolve()
    found, names = find_notebooks(chosen.notebooks.resolve(), chosen.notebook)
    find_katex(chosen.katex)
    try:
        import nbconvert  # noqa: F401
        import ipykernel  # noqa: F401
        from matplotlib import font_manager  # noqa: F401  makes its cache once, for all kernels
        import documents
        import inputs
        import pages
        import prenorm
    except ImportError as error:
        raise Unusable(f"{error} in {sys.executable} (Debian: {PACKAGES})") from None
    try:
        home = prenorm.home()
    except FileNotFoundError as error:
        raise Unusable(str(error)) from None
    os.environ["PRENORM_HOME"] = str(home)
    manifest = open_folder(folder)
    earlier = {name: page for name, page in manifest["pages"].items()
               if (folder / page["file"]).exists()}
    results = inputs.of_results(ROOT, home)
    shared = inputs.of_every_page(results, found)
    # Of a page's links, those stay that lead to a page of the site.
    linked = sorted({*names, *earlier} if chosen.notebook else found)
    current = {name: inputs.digest([path], shared, linked) for name, path in found.items()}
    rest = [shared, inputs.of_the_rest(ROOT, [each.path for each in documents.find(ROOT)],
                                       find_katex(chosen.katex), linked)]
    if not chosen.all:
        names = [name for name in names if is_stale(earlier.get(name), current[name])]
        if not names and earlier == manifest["pages"] and manifest.get("rest") == rest:
            print("nothing has changed", file=sys.stderr)
            print(folder / "index.html")
            return 0
    write_manifest(folder, pages=earlier)  # the folder is ours, even if this run fails
    copy_assets(folder, chosen.katex)
    executed = execute_named([found[name] for name in names], home, chosen.jobs)
    kept = {name: page for name, page in earlier.items()
            if name not in executed and (chosen.notebook or name in found)}
    problems = pages.problems_of(names if chosen.notebook else None)
    known = answers(folder, results, problems, pages.ask)
    site = pages.Site(folder, pages.Facts(known, results), found, kept)
    for name, (notebook, failure, _) in executed.items():
        site.add(name, notebook, failure)
        site.pages[name]["inputs"] = current[name]
    if not chosen.notebook:
        site.add_components()
    site.write()
    for name, page in earlier.items():
        if name not in site.pages:
            (folder / page["file"]).unlink(missing_ok=True)
    write_manifest(folder, pages=site.manifest(), rest=rest)
    print(folder / "index.html")
    return 1 if any(failure for _, failure, _ in executed.values()) else 0


def answers(folder, digest, problems, ask):
    """The harness's answers, {problem: answers}: those of earlier runs, and new ones for these problems
    unless what they tell of is as it was."""
    path = folder / ANSWERS
    try:
        known = dict(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):  # there are none yet
        known = {}
    missing = [each for each in problems if known.get(each, {}).get("inputs") != digest]
    if missing:
        what = missing[0] if len(missing) == 1 else f"{len(missing)} problems"
        running = f"running the cases and the known mistakes of {what}"
        print(running, file=sys.stderr)
        begun = time.monotonic()
        with saying(lambda: f"still {running}"):
            known |= {problem: {"inputs": digest, **answer} for problem, answer in ask(missing).items()}
        put(path, json.dumps(known))
        print(f"results and mistakes: {time.monotonic() - begun:.1f} s", file=sys.stderr)
    return known


def is_stale(page, digest):
    """Whether a notebook must be executed again for its page (None: there is none yet)."""
    return page is None or page["failure"] or page.get("inputs") != digest


def execute_named(paths, home, jobs):
    """Executes these notebooks: {name: result of execute()}."""
    if not paths:
        return {}
    print(f"executing {len(paths)} {'notebooks' if len(paths) > 1 else 'notebook'}, "
          f"{min(jobs, len(paths))} at a time", file=sys.stderr)
    executed = {}
    with tempfile.TemporaryDirectory(prefix="prenorm-study-", ignore_cleanup_errors=True) as scratch, \
            saying(lambda: f"notebooks executed: {len(executed)} of {len(paths)}"):
        for name, answer in execute_all(paths, environment(home, Path(scratch)), jobs):
            executed[name] = answer
    return executed


def main():
    chosen = words(sys.argv[1:])
    sys.path.insert(0, str(NOTEBOOKS))
    try:
        return build(chosen)
    except Unusable as error:
        print(f"{PROGRAM} study: {error}", file=sys.stderr)
        return 2
    except OSError as error:  # a disk that is full, say
        print(f"{PROGRAM} study: {error.filename or 'a file'}: {error.strerror}; pages that are "
              "not written yet are as they were", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
