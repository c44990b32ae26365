# labels: unit grading
# slow labels: unit grading
"""A course's folder that has virtual environments in it, or is one: a submission sees what runs it,
and nothing else of that folder."""

import subprocess

from grading import grade, in_sandboxes, need, results

LOOKS = '''
def run_softmax(in_features, dim):
    found = []
    for path in {paths!r}:
        try:
            open(path).close()
            found.append(path)
        except OSError:
            pass
    raise RuntimeError("can read " + ", ".join(found))
'''


@in_sandboxes([".", "venv", "submissions/venv"], slow=[".", "venv"])
def test_a_submission_sees_no_neighbour(name, sandbox, tmp_path):
    need(sandbox)
    course, environment = tmp_path / "course", name
    for folder in (course / environment, course / "other"):
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", "--system-site-packages",
                        folder], check=True)
    (course / environment / "notes.txt").write_text("no business of a submission's\n")
    for name in ("alice", "bob"):
        (course / "submissions" / name).mkdir(parents=True)
    (course / "submissions/bob/adapters.py").write_text("answers = 42\n")
    (course / "grades.sqlite").write_text("secret")
    needed = course / environment / "pyvenv.cfg"
    private = [course / name for name in (
        f"{environment}/notes.txt", "submissions/bob/adapters.py", "submissions/alice/adapters.py",
        "grades.sqlite", "other/pyvenv.cfg", "other/bin/activate")]
    (course / "submissions/alice/adapters.py").write_text(
        LOOKS.format(paths=[str(path) for path in (needed, *private)]))
    assert all(path.exists() for path in (needed, *private))
    code, report, printed = grade(
        course / "submissions/alice", "--python", course / environment / "bin/python", "--problem",
        "softmax", "--no-hidden", "--sandbox", sandbox, tmp=tmp_path)
    assert code == 1, printed
    told = {result["message"] for result in results(report, "softmax") if result["message"]}
    assert len(told) >= 1 and all("can read" in message for message in told), told
    for message in told:
        assert str(needed) in message or sandbox == "process", message
        assert not [path for path in private if str(path) in message], message
