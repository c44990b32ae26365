// What a compiler says of a solution, shortened.
#pragma once

namespace prenorm::harness {

/// A function of /bin/sh, `first_errors ROOT LOG`: prints few lines of a build's log. Sentences
/// come first, of static assertions and of the emulator, each with its place in the file or folder
/// ROOT; where there are none, the first six errors. Without any, the log's last lines.
inline constexpr const char* first_errors = R"sh(
first_errors() {
  awk -v root="$1" -f - "$2" <<'AWK' || tail -n 6 "$2"
# "solution.cpp:6:52: " where the line begins with a place in what was handed in.
function own_place() {
  return index($0, root) == 1 && match($0, /^[^:]+:[0-9]+(:[0-9]+)?: /) ? substr($0, 1, RLENGTH) : ""
}
/In (instantiation|substitution) of/ { place = "" }
/required (from|by)/ && place == "" { place = own_place() }
# The emulator's own sentence, which begins with "mine.cu:12: ".
index($0, root) == 1 && /^[^:]+:[0-9]+: / && !/: (fatal error|error|warning|note): / {
  if (!seen[$0]++ && asserted++ < 5) print
  next
}
/error: / { export_of = /after template-argument-list/ ? own_place() : "" }
export_of != "" && /[|] *PRENORM_EXPORT/ { plain = export_of }
/^[^ ]*(make|ninja)[^ ]*: / || tolower($0) !~ /error[ :]|undefined reference|multiple definition/ { next }
match($0, /static[_ ]assert[a-z]* failed[^"]*/) {
  if (unparsed) next  # of a parameter that the compiler could not read
  sentence = substr($0, RSTART)  # GCC puts no quotes round it, others do
  if (!sub(/^[^"]*"/, "", sentence)) sub(/^[^:]*: /, "", sentence)
  sub(/"$/, "", sentence)
  where = own_place()
  sentence = (where == "" ? place : where) sentence
  if (!seen[sentence]++ && asserted < 5) print sentence
  asserted++
  next
}
# In a place of a template each type has the error once more.
{ where = own_place() }
seen[where == "" ? $0 : where]++ { next }
where != "" && /: error: expected|declared/ { unparsed = 1 }
# After a sentence, what follows from it in headers tells nothing.
!asserted || where != "" { others[++count] = substr($0, 1, 240) }
/read-only location .*View<const/ { written = 1 }
/prenorm::b?float16/ && /conver|no match/ { stored = 1 }
END {
  if (plain) print plain "a function that is no template is exported by PRENORM_EXPORT_FUNCTION(problem, function)"
  if (written) print "an output is View<T>, without const"
  if (!asserted && stored) print "16-bit types only store: compute in float, then write T(value)"
  for (i = 1; i <= count && i <= 6; i++) print others[i]
  exit (asserted + count == 0)
}
AWK
}
)sh";

}  // namespace prenorm::harness
