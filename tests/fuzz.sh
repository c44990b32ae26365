#!/bin/sh
# Fuzzes one target for a minute, starting from its corpus:  fuzz.sh signature|fixture FOLDER [SECONDS]
#
# Builds it in FOLDER with clang++ (libFuzzer, AddressSanitizer, UBSan). Without clang++ nothing is
# done, and that is said. An input that fails is left in FOLDER as crash-*, and its path is printed.
set -eu

target=$1 folder=$2 seconds=${3:-60}
tests=$(cd "$(dirname "$0")" && pwd)
harness=$tests/../harness

case $target in
  signature) corpus=signature sources="signature tensor dtype" ;;
  fixture) corpus=catalogue
    sources="fixture_check fixture_object catalogue draw printable signature tensor dtype" ;;
  *) echo "fuzz.sh: unknown target $target, wanted signature or fixture" >&2; exit 2 ;;
esac

if ! command -v clang++ >/dev/null; then
  echo "fuzz.sh: skipped, there is no clang++ (Debian: clang, libclang-rt-14-dev)"
  exit 0
fi

mkdir -p "$folder/$target-found"
set -- "$tests/fuzz_$target.cpp"
for source in $sources; do set -- "$@" "$harness/$source.cpp"; done
clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
  -I"$harness" -I"$harness/include" "$@" -o "$folder/fuzz_$target"

exec "$folder/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
  -max_len=16384 -print_final_stats=1 -verbosity=0 -artifact_prefix="$folder/" \
  "$folder/$target-found" "$tests/corpus/$corpus"
