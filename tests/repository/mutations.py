"""What can be changed in a C++ source so that it most likely still compiles (mutate.py). Tokens, no syntax: what
clang-format has formatted says by its spaces what is a binary operator and what a bracket of a template."""

import re

TOKEN = re.compile(r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<string>\w*R"(?P<end>[^(\s]*)\(.*?\)(?P=end)"|\w?\w?"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
  | (?P<number>\.?\d(?:'?\w|\.|(?<=[eEpP])[+-])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<op><=>|->|::|\+\+|--|<<=?|[-+*/%&|^<>=!]=|&&|\|\||.)""", re.VERBOSE | re.DOTALL | re.MULTILINE)
KINDS = {"comparison": "< <=, <= <, > >=, >= >, == !=, != ==", "logical": "&& ||, || &&",
         "condition": "true false, false true", "min and max": "min max, max min",
         "arithmetic": "+ -, - +, * /, / *, += -=, -= +=, *= /=, /= *="}
BECOMES = {pair.split()[0]: (kind, pair.split()[1]) for kind, pairs in KINDS.items() for pair in pairs.split(", ")}
ASSIGNS = set("= ++ -- += -= *= /= |= &= ^= %=".split())
NOT_FIRST = set("auto case class const constexpr default delete do else enum for goto if return static struct switch "
                "try typedef union using while".split())


def sites(text):
    """(kind, start, end, new text) of each change."""
    found = [match for match in TOKEN.finditer(text) if match.lastgroup != "skip"]
    at, is_word = [match.group() for match in found] + [";"] * 3, [match.lastgroup == "word" for match in found]
    close, opened, blocked, with_text, scopes, in_code, begin = {}, [], set(), set(), [False], [], 0
    for i, token in enumerate(at[:-3]):
        in_code.append(scopes[-1])  # whether what is around it is a function's body
        if token in "([{":
            opened.append(i)
        elif token in ")]}" and opened:
            close[opened.pop()] = i
        if token == "{":
            head = set(at[begin:i])
            scopes.append("(" in head or not {"class", "struct", "union", "enum", "namespace"} & head)
        elif token == "}" and scopes[1:]:
            scopes.pop()
        if token in "{};":
            if any(match.lastgroup == "string" for match in found[begin:i]):
                with_text.update(range(begin, i))
            begin = i + 1
        end = i
        if token in ("static_assert", "using", "typedef", "requires", "concept", "friend"):
            end = next(j for j in range(i, len(at)) if at[j] in "{;")
        elif token == "operator":
            end = i + 4
        elif token == "template":
            depth, end = 1, i + 2
            while depth and end < len(found):
                depth, end = depth + (at[end] == "<") - (at[end] == ">"), end + 1
        blocked.update(range(i, end))
    ends_head = {close[j] for i, token in enumerate(at) for j in (i + 1, i + 2)
                 if j in close and token in ("if", "while", "for") and (j == i + 1 or at[i + 1] == "constexpr")}

    def is_removable(i, end):
        """Whether it is a call, an assignment or a jump, and no declaration."""
        if at[i] in ("throw", "continue", "break") or at[i:end] == ["return"]:
            return True
        i += at[i] in ("*", "++", "--", "::")
        if not is_word[i] or at[i] in NOT_FIRST:
            return False
        while i < end and at[i] not in ASSIGNS:
            last = close.get(i, i) if at[i] in "([" else i
            if (is_word[i] and is_word[i + 1]) or (last == i and not is_word[i] and at[i] not in ("::", ".", "->")):
                return False
            i = last + 1
        return i < end or at[end - 1] == ")"

    for i, (match, token) in enumerate(zip(found, at)):
        start, end = match.span()
        if i in blocked:
            continue
        kind, new = BECOMES.get(token, ("", ""))
        if kind == "condition" or (kind == "min and max" and at[i - 2:i] in (["std", "::"], ["ranges", "::"])) or (
                kind in ("comparison", "logical", "arithmetic") and text[start - 1].isspace() and text[end].isspace()
                and not (kind == "arithmetic" and i in with_text)):
            yield kind, start, end, new
        elif token == "!" and not text[end].isspace():
            yield "condition", start, end, ""
        elif token == "if" and i + 1 in close:
            last = close[i + 1]
            first = max(j + 1 for j in range(i + 1, last) if at[j] == ";" or j == i + 1)
            inner = set(at[first:last])  # of one comparison, another mutant is the negation
            if "=" not in inner and (inner & {"&&", "||"} or not (inner & {"==", "!="} or at[first] == "!")):
                start, end = found[first].start(), found[last].start()
                yield "condition", start, end, f"!({text[start:end]})"
        elif match.lastgroup == "number" and text[start - 1] != "<" and text[end] != ">":
            number = re.fullmatch(r"(\d+)([uUlL]*)", token.replace("'", ""))
            if number and not (at[i - 1] == "=" and at[i - 2] in (")", "const", "noexcept")):
                yield "integer", start, end, f"{int(number[1]) + 1}{number[2]}"
            elif re.fullmatch(r"[\d.]+(e[-+]?\d+)?[fFlL]?", token) and not number:
                yield "float", start, end, f"(2 * {token})" if float(token.rstrip("fFlL")) else "1.0"
        if in_code[i] and (i - 1 in ends_head or at[i - 1] in ("{", "}", ";", "else")):
            last = i
            while at[last] != ";":
                last = close.get(last, last) + 1
            if last < len(found) and is_removable(i, last) and "reserve" not in at[i:last]:
                yield "statement", match.start(), found[last].start(), ""
