#!/bin/sh
# Fuzzes one target for half a minute, starting from its corpus:  fuzz.sh fuzz_signature FOLDER [SECONDS]
#
# Builds NAME.cpp in FOLDER with clang++ (libFuzzer, AddressSanitizer, UBSan); the lines `// sources:`
# and `// corpus:` in it name files of the harness and a folder of corpus/. Skipped without clang++.
# An input that fails is left in FOLDER as crash-*, and its path is printed.
set -eu

name=$1 folder=$2 seconds=${3:-30}
tests=$(cd "$(dirname "$0")" && pwd)
harness=$tests/../harness
corpus=$(sed -n 's|^// corpus: ||p' "$tests/$name.cpp")
sources=$(sed -n 's|^// sources: ||p' "$tests/$name.cpp")

if ! command -v clang++ >/dev/null; then
  reason="there is no clang++ (Debian: clang, libclang-rt-dev)"
  echo "$name: skipped: $reason"
  [ -z "${PRENORM_SKIPS:-}" ] || echo "$name: $reason" >>"$PRENORM_SKIPS"
  [ -z "${PRENORM_REQUIRE_ALL:-}" ] || exit 1
  exit 77
fi

mkdir -p "$folder/$name-found"
set -- "$tests/$name.cpp"
for source in $sources; do
  set -- "$@" "$harness/$source.cpp"
done
clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
  -I"$harness" -I"$harness/include" "$@" -o "$folder/$name"

exec "$folder/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
  -max_len=16384 -print_final_stats=1 -verbosity=0 -artifact_prefix="$folder/" \
  "$folder/$name-found" "$tests/corpus/$corpus"
