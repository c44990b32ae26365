#!/bin/sh
# Fuzzes one target for half a minute, starting from its corpus:  fuzz.sh SOURCE FOLDER [SECONDS]
#
# Builds the source in FOLDER with clang++ (libFuzzer, AddressSanitizer, UBSan); the lines `// sources:`
# and `// corpus:` in it name files of the harness and a folder of ../fixtures/corpus/. Skipped without
# clang++. An input that fails is left in FOLDER as crash-*, and its path is printed.
set -eu

target=$1 folder=$2 seconds=${3:-30}
name=$(basename "$target" .cpp)
tests=$(cd "$(dirname "$0")/.." && pwd)
harness=$tests/../harness
corpus=$(sed -n 's|^// corpus: ||p' "$target")
sources=$(sed -n 's|^// sources: ||p' "$target")

if ! command -v clang++ >/dev/null; then
  reason="there is no clang++ (Debian: clang, libclang-rt-dev)"
  echo "$name: skipped: $reason"
  [ -z "${PRENORM_SKIPS:-}" ] || echo "$name: $reason" >>"$PRENORM_SKIPS"
  [ -z "${PRENORM_REQUIRE_ALL:-}" ] || exit 1
  exit 77
fi

mkdir -p "$folder/$name-found"
set -- "$target"
for source in $sources; do
  set -- "$@" "$harness/$source.cpp"
done
clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
  -I"$harness" -I"$harness/include" "$@" -o "$folder/$name" -lfmt -lutf8proc

exec "$folder/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
  -max_len=16384 -print_final_stats=1 -verbosity=0 -artifact_prefix="$folder/" \
  "$folder/$name-found" "$tests/fixtures/corpus/$corpus"
