// How a project that was handed in is built, in the sandbox.
#pragma once

namespace prenorm::harness {

/// Configures and builds, and hands out the one library that exports a solution.
inline constexpr const char* build_project = R"sh(
exec 9>&3 3>&-
log=$TMPDIR/log
source=$1
root=$1/
# CUDA sources alone, one or those of a folder, are a project of their own.
if [ "$5" = sources ]; then
  source=$TMPDIR/project
  [ -d "$1" ] || root=$(dirname "$1")/
  mkdir "$source"
  {
    echo 'cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES CXX)
find_package(prenorm REQUIRED COMPONENTS CUDA)
prenorm_add_solution(mine'
    find "$1" -maxdepth 1 -type f -name '*.cu' -exec printf '[==[%s]==]\n' {} +
    echo ')'
  } >"$source/CMakeLists.txt"
fi
fail() {
  echo "$1" >&2
  awk -v root="$root" -f - "$log" >&2 <<'AWK' || tail -n 6 "$log" >&2
# "solution.cpp:6:52: " where the line begins with a place in what was handed in.
function own_place() {
  return index($0, root) == 1 && match($0, /^[^:]+:[0-9]+(:[0-9]+)?: /) ? substr($0, 1, RLENGTH) : ""
}
/In (instantiation|substitution) of/ { place = "" }
/required (from|by)/ && place == "" { place = own_place() }
# The emulator's own sentence, which begins with "mine.cu:12: ".
index($0, root) == 1 && /^[^ :]+:[0-9]+: / && !/error|warning|note/ {
  if (!seen[$0]++ && asserted++ < 5) print
  next
}
/^[^ ]*(make|ninja)[^ ]*: / || tolower($0) !~ /error[ :]|undefined reference/ { next }
match($0, /static[_ ]assert[a-z]* failed[^"]*/) {
  sentence = substr($0, RSTART)  # GCC puts no quotes round it, others do
  if (!sub(/^[^"]*"/, "", sentence)) sub(/^[^:]*: /, "", sentence)
  sub(/"$/, "", sentence)
  where = own_place()
  sentence = (where == "" ? place : where) sentence
  if (!seen[sentence]++ && asserted < 5) print sentence
  asserted++
  next
}
seen[$0]++ { next }
# After a sentence, what follows from it in headers tells nothing.
!asserted || own_place() { others[++count] = substr($0, 1, 240) }
/read-only location .*View<const/ { written = 1 }
/prenorm::b?float16/ && /conver|no match/ { stored = 1 }
END {
  if (written) print "an output is View<T>, without const"
  if (!asserted && stored) print "16-bit types only store: compute in float, then write T(value)"
  for (i = 1; i <= count && i <= 6; i++) print others[i]
  exit (asserted + count == 0)
}
AWK
  exit 1
}
touch "$TMPDIR/begun"
mkdir -p "$TMPDIR/build/.cmake/api/v1/query"
touch "$TMPDIR/build/.cmake/api/v1/query/codemodel-v2"  # CMake then says what its targets make
cmake -S "$source" -B "$TMPDIR/build" -DCMAKE_BUILD_TYPE=Release -Dprenorm_DIR="$2" \
  -DPRENORM_EMULATE="$4" >"$log" 2>&1 \
  </dev/null 9>&- || fail 'cmake could not configure it'
cmake --build "$TMPDIR/build" -j "$3" >"$log" 2>&1 </dev/null 9>&- || fail 'it does not compile'
# Takes the one library of that list that exports a solution, if there is one.
take() {
  found=
  while IFS= read -r library; do
    nm -D --defined-only "$library" 2>"$log" | grep -qE ' prenorm_abi(@|$)' || continue
    [ -z "$found" ] || cmp -s "$found" "$library" || { echo 'builds several solution libraries, wanted one' >&2; exit 1; }
    found=$library
  done <"$1"
}
grep -ho '"path" : "[^"]*[.]so[^"]*"' "$TMPDIR"/build/.cmake/api/v1/reply/target-*.json 2>"$log" |
  cut -d'"' -f4 | while IFS= read -r library; do
  case $library in
    /*) printf '%s\n' "$library" ;;
    *) printf '%s/build/%s\n' "$TMPDIR" "$library" ;;
  esac
done >"$TMPDIR/made"
# What a project makes by commands. It may write beside its sources, too; what lay there before is
# not what it builds.
find "$TMPDIR/build" "$1" -type f '(' -name '*.so' -o -name '*.so.*' ')' \
  ! -path '*/CMakeFiles/*' '(' -path "$TMPDIR/build/*" -o -newer "$TMPDIR/begun" ')' >"$TMPDIR/built"
take "$TMPDIR/made"
[ -n "$found" ] || take "$TMPDIR/built"
[ -n "$found" ] || {
  echo 'builds no library that exports prenorm_abi: is the line PRENORM_SOLUTION(kDLCPU) missing?' >&2
  exit 1
}
readelf -d "$found" 2>"$log" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$TMPDIR/needed"
own=$(awk -F/ 'NR == FNR { needed[$0]; next }
  { for (name in needed) if ($NF == name || index($NF, name ".") == 1) print name }' \
  "$TMPDIR/needed" "$TMPDIR/built" | head -n 1)
[ -z "$own" ] || {
  echo "needs $own, which it builds too, and only one library is taken: link it in (STATIC or OBJECT)" >&2
  exit 1
}
printf '%020d' "$(stat -c %s "$found")" >&9
cat "$found" >&9
)sh";

}  // namespace prenorm::harness
