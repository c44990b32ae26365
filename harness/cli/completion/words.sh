#!/bin/sh
# sh words.sh PROGRAM DATA SOLUTIONS [WORD...] LAST: what may stand in place of LAST, which may be empty, where PROGRAM
# was typed with these words. A line is a word, a tab, and what it means; the line FILE stands for the names of files.
# Commands, options and values are those that --help shows; the names of problems, rubrics and notebooks are those of
# files in the folder DATA, and solutions are the libraries in SOLUTIONS.
program=$1 data=$2 solutions=$3
shift 3

# names FILE...: of those that are there, without folders and endings.
names() {
  for file; do
    [ -e "$file" ] || continue
    file=${file##*/}
    echo "${file%.*}"
  done
}

commands_of() { printf '%s\n' "$1" | sed -n '/ommands:$/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'; }

page=$("$program" --help </dev/null 2>/dev/null)
COMMAND=$(commands_of "$page")
path='' before=''
while [ $# -gt 1 ]; do
  case $1 in
    --) # what follows belongs to another program
      echo FILE
      exit
      ;;
    -*) ;;
    *)
      if commands_of "$page" | grep -qxF -e "$1"; then
        path="$path $1"
        # shellcheck disable=SC2086  # a word per command
        page=$("$program" $path --help </dev/null 2>/dev/null)
      elif [ -z "$path" ]; then
        exit # no command
      fi
      ;;
  esac
  before=$1
  shift
done

PROBLEM=$(names "$data"/fixtures/*.h5)
RUBRIC=$(names "$data"/fixtures/rubrics/*.toml)
NOTEBOOK=$(names "$data"/notebooks/*.ipynb)
SOLUTION=$(names "$solutions"/libprenorm_*.so | sed 's/^libprenorm_//')
export COMMAND PROBLEM RUBRIC NOTEBOOK SOLUTION
export BEFORE="$before" LAST="$1"
printf '%s\n' "$page" | awk '
  BEGIN { last = ENVIRON["LAST"] }
  /^[A-Za-z]+:$/ { section = $1; next }
  # "  --json FILE        Write a report", and lines that only go on with what it means.
  /^  -/ {
    text = ""
    if (match($0, /[^ ]   */)) { text = substr($0, RSTART + RLENGTH); $0 = substr($0, 1, RSTART) }
    sub(/^ */, ""); gsub(/, /, ",")
    count = split($1, same, ",")
    for (i = 1; i <= count; i++) value[same[i]] = $2
    words[++n] = latest = same[count]; means[latest] = text
    next
  }
  /^  [^ ]/ && section ~ /ommands:$/ { words[++n] = latest = $1; $1 = ""; sub(/^ */, ""); means[latest] = $0; next }
  /^  [^ ]/ && section == "Positionals:" { latest = ""; positional[++positionals] = $1 "|" $2; next }
  /^        / && latest != "" { sub(/^ */, ""); means[latest] = means[latest] (means[latest] == "" ? "" : " ") $0; next }
  { latest = "" }

  function offer(word, what) { if (index(word, last) == 1) print given word "\t" what }
  # What may stand where --help has "NAME|FILE" behind an option, or in its list of words without one.
  function offer_values(kinds, option,   kind, i, j, count, many, all) {
    sub(/=.*/, "", kinds)
    count = split(kinds, kind, "|")
    for (i = 1; i <= count; i++) {
      if (kind[i] == "NAME") kind[i] = toupper(substr(option, 3))
      if (kind[i] ~ /^[a-z]/) offer(kind[i])
      else if (kind[i] in ENVIRON && kind[i] ~ /^(COMMAND|NOTEBOOK|PROBLEM|RUBRIC|SOLUTION)$/) {
        many = split(ENVIRON[kind[i]], all, "\n")
        for (j = 1; j <= many; j++) offer(all[j])
      } else if (kind[i] ~ /[.]|DIR|EXPORT|FILE|FOLDER|PATH|PYTHON|REPORT|ROSTER|SUBMISSION/) files = 1
    }
  }
  END {
    if (match(last, /^--[^=]*=/)) { given = substr(last, 1, RLENGTH); last = substr(last, RLENGTH + 1) }
    option = given == "" ? ENVIRON["BEFORE"] : substr(given, 1, length(given) - 1)
    if (value[option] != "") offer_values(value[option], option)
    else if (given == "") {
      for (i = 1; i <= n; i++) {
        if ((words[i] ~ /^-/) == (last ~ /^-/)) offer(words[i], means[words[i]])
      }
      if (last !~ /^-/) for (i = 1; i <= positionals; i++) offer_values(positional[i])
    }
    if (files) print "FILE"
  }'
