# labels: unit
"""The reports of a grading, for a student: the page, JUnit's XML, Markdown, annotations, Gradescope's.
Nothing from outside breaks them, and nothing of a hidden case but its status stands in them."""

import xml.etree.ElementTree

import pytest

from gradings import (SECRETS, case, check_elements, check_is_escaped, check_needs_nothing,
                      compile_error, grading, hostile, is_plain, item, ordinary, render, secrets)


def test_the_page_says_what_was_earned_and_why_not():
    page = render(ordinary(), "html")
    for part in ("<title>alice: 1.5 of 6 points</title>",
                 "Looks like halves instead of neighbours (all 3 failing cases)", "Hint: ",
                 "Looks like w1 and w3 exchanged, or ",
                 # A failing case: its shapes, the worst element, both values, the bound, the command.
                 "x[2, 3, 32], token_positions[3] -&gt; y[2, 3, 32]", "160 of 192 elements",
                 "y[1, 2, 5]", "<code>0.123456</code>", "<code>-0.654321</code>",
                 "--case three_batch_axes",
                 # Near numbers are written with the digits that tell them apart.
                 "<code>1.0000001</code>", "<code>1.0000004</code>", "0: it must be exact",
                 # Failures that say nothing of their own are one.
                 "all 5 cases",
                 'Hidden cases: 1 of 4 passed, 2 <span class="bad">INCORRECT_NUMERICAL</span>, 1 '
                 '<span class="bad">TIMEOUT</span>.'):
        assert part in page, part
    assert page.count("Looks like none of the known mistakes") == 1
    # A map and a histogram for each of the four cases that have them.
    assert page.count('<svg class="map"') == page.count('<svg class="bars"') == 4
    assert page.count("not implemented</bdi>") == 1
    assert "918273645546372819" not in page


@pytest.mark.parametrize("made", [ordinary, hostile, secrets, grading])
def test_the_page_needs_nothing_and_its_elements_end_in_order(made):
    page = render(made(), "html")
    check_needs_nothing(page)
    check_elements(page)


def test_the_page_escapes_all_that_comes_from_outside():
    page = render(hostile(), "html")
    check_is_escaped(page)
    # Every text is cut: 20000 bytes stand nowhere.
    assert len(page.encode()) < 100000 and "w" * 4001 not in page


@pytest.mark.parametrize("form", ["html", "junit", "markdown", "annotations", "gradescope", "table"])
def test_no_report_for_students_tells_a_secret(form):
    report = render(secrets(), form)
    for secret in SECRETS:
        assert secret not in report
    # The same cases, visible, do show all that: the test can fail.
    report = render(secrets(False), form)
    for shown in ("SECRETname", "SECRETmessage", "SECRETrepeat"):
        assert shown in report
    if form == "html":
        for shown in ("SECRETshapes", "SECREToutput", "SECRETtensor", "SECRETdtype", "31337.2", "44444"):
            assert shown in report


def test_only_so_many_cases_are_pictured():
    made = ordinary()
    made["items"][1]["cases"] += [made["items"][1]["cases"][0]] * 20
    page = render(made, "html")
    assert page.count('<svg class="map"') == 9  # 8, and one of another problem
    assert page.count("--case three_batch_axes") == 21


def test_maps_that_do_not_fit_are_left_out():
    made = ordinary()
    [errors] = made["items"][1]["cases"][0]["errors"]
    errors["cells"].pop()
    errors["histogram"].pop()
    page = render(made, "html")
    assert page.count('<svg class="map"') == page.count('<svg class="bars"') == 3


def test_what_could_not_be_built_says_so_with_its_lines():
    page = render(compile_error(), "html")
    assert "COMPILE_ERROR" in page
    assert "expected &#39;;&#39;\n    3 | }\n      | ^\n" in page
    assert ("::error title=carol%3A COMPILE_ERROR::solution.cpp:3:1: error: expected ';'%0A"
            "    3 | }%0A      | ^\n") in render(compile_error(), "annotations")
    suites = xml.etree.ElementTree.fromstring(render(compile_error(), "junit"))
    assert suites.find("testsuite/testcase/failure").get("type") == "COMPILE_ERROR"


def test_junit_has_a_suite_for_each_item_and_counts_what_is_missing_as_failed():
    root = xml.etree.ElementTree.fromstring(render(ordinary(), "junit"))
    assert root.get("name") == "prenorm grade alice"
    assert int(root.get("tests")) == 12 + 8 + 4 + 5
    assert int(root.get("failures")) == 0 + 6 + 4 + 5
    assert int(root.get("errors")) == 0
    suites = list(root)
    assert [suite.get("name") for suite in suites] == ["rmsnorm", "rope", "positionwise_feedforward",
                                                       "softmax"]
    assert suites[-1].find("testcase/failure").get("type") == "NOT_IMPLEMENTED"
    wrong = suites[1].find("testcase/failure")
    assert "160 of 192" in wrong.get("message") and "repeat: prenorm grade alice" in wrong.text
    hidden = suites[1].findall("testcase")[-1]
    assert hidden.get("name") == "hidden_4" and not hidden.get("time")
    assert hidden.find("failure").get("message") == "TIMEOUT"


def test_junit_is_well_formed_whatever_comes_from_outside():
    text = render(hostile(), "junit")
    xml.etree.ElementTree.fromstring(text)
    assert is_plain(text) and "\u202e" not in text and len(text.encode()) < 20000


def test_an_item_whose_name_begins_with_blanks_is_no_group():
    made = ordinary()
    made["items"][1]["name"] = "  rope"
    text = render(made, "markdown")
    assert "| `  rope` | 0.5 / 2 | 2/8 |\n| &emsp;`errors` | 0.5 / 0.5 | 2/2 |" in text, text


def test_annotations():
    text = render(ordinary(), "annotations")
    assert text.count("::error title=") == 4
    assert ("::error title=rope%3A 3 of 4 cases failed%2C 3 of 4 hidden::"
            "looks like halves instead of neighbours (all 3 failing cases)%0A") in text
    assert "%0AINCORRECT_NUMERICAL  three_batch" in text
    assert render(hostile(), "annotations").count("\n") == 1


def test_at_most_ten_annotations_the_last_of_which_counts():
    made = grading(items=[
        item(f"item{i}", [f"item{i}"], 0, 0, [],
             cases=[case(f"item{i}", "a", "TIMEOUT", "100 %\nlate")]) for i in range(10)])
    text = render(made, "annotations")
    assert "more problems" not in text and "%0A100 %25\\nlate%0Arepeat: " in text
    made["items"].append(item("item9", ["other"], 0, 0, [], cases=[
        case("other", "a", "TIMEOUT", "100 %\nlate")]))
    text = render(made, "annotations")
    assert text.count("::error ") == 10 and "::error title=2 more problems failed::" in text


def test_results_for_gradescope():
    made = ordinary()
    cases = [each for part in made["items"] for each in part["cases"]]
    for each in cases:
        each["groups"] = ["fresh" if each["hidden"] else "float32"]
    results = render(made, "gradescope", "after_published")
    assert "1 of 4 hidden cases passed: 2 INCORRECT_NUMERICAL, 1 TIMEOUT." in results
    # A group of each item, and what is said of the whole. What is visible counts nothing hidden.
    assert results.count('"visibility": "after_published"') == 3
    # A diagnosis is told if it explains a visible case.
    told = "rope looks like halves instead of neighbours\\n"
    assert told not in results
    for each in cases:
        if not each["hidden"] and each["result"]["problem"] == "rope":
            each["told"]["cause"] = 0
    assert told in render(made, "gradescope", "after_published")
