import regex

PATTERN = r" ?[\p{L}]+| ?[\p{N}]+|[^\p{L}\p{N}]"


def words(text):
    return regex.findall(PATTERN, text)
