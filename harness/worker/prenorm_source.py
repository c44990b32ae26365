"""What a Python source says of its imports: found in its syntax tree, nothing is executed.

prenorm_submission.py loads this file.
"""

import ast
import builtins
import re


def blocks(node):
    """The lists of statements in a statement."""
    for field in ("body", "orelse", "finalbody"):
        yield getattr(node, field, [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def is_never_run(node):
    """`if TYPE_CHECKING:` or `if __name__ == "__main__":`."""
    if not isinstance(node, ast.If):
        return False
    test = node.test.left if isinstance(node.test, ast.Compare) else node.test
    return getattr(test, "id", getattr(test, "attr", "")) in ("TYPE_CHECKING", "__name__")


def imports(body, in_function=False):
    """Every import statement: (the list that holds it, the statement, whether in a function)."""
    for node in list(body):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if getattr(node, "module", None) != "__future__":
                yield body, node, in_function
            continue
        inside = in_function or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for block in blocks(node):
            if not (is_never_run(node) and block is node.body):
                yield from imports(block, inside)


def names_in(expression):
    """The last names of an expression such as `(ImportError, errors.Missing)`; None is any error."""
    if expression is None:
        return {"BaseException"}
    nodes = list(ast.walk(expression))
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }


def guards(tree):
    """(first line, last line, names of errors): statements that are tried, and what is caught."""
    found = []
    for node in ast.walk(tree):
        names = set()
        if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            names = set().union(*(names_in(handler.type) for handler in node.handlers))
        elif isinstance(node, ast.With):
            for call in (item.context_expr for item in node.items):
                if isinstance(call, ast.Call) and "suppress" in names_in(call.func):
                    names = names.union(*map(names_in, call.args))
        if names:
            found.append((node.body[0].lineno, node.body[-1].end_lineno, names))
    return found


def free_names(tree):
    """Names that a module uses and never binds: where they come from a `*`, nobody can tell."""
    used, bound = set(), set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return used - bound


def is_caught(found, line, kinds):
    """Whether a guard around that line catches an error of these classes' names."""
    # A name of the submission's own may be that of any error.
    return any(
        first <= line <= last and (not names.isdisjoint(kinds) or not names <= ERRORS)
        for first, last, names in found
    )


ERRORS = {name for name in dir(builtins) if name.endswith(("Error", "Exception", "Exit"))}

# At the left margin: what a module would define, had it been executed to its end.
DEFINITION = re.compile(r"(?m)^(?:(?:async +)?def|class) +(\w+)|^(\w+) *(?::[^=\n]*)?=(?!=)")
