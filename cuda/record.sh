#!/bin/sh
# record.sh [--prefix DIR] [OUT]: what a device says of the CUDA solutions, all in one command.
#
# Runs, on a machine with a CUDA device: every fixture, fresh cases of other seeds, compute-sanitizer
# over the fixtures, and the benchmarks beside PyTorch where there is one. Writes into OUT (else
# cuda/records of the checkout, or ./records): the device records that `prenorm verify` shows,
# reports as JSON, the roofline picture, logs; a summary stands in summary.txt and is printed last.
#
# From a checkout it builds what it needs (CMake, nvcc and the packages of the README). With
# --prefix DIR it uses an installation made elsewhere, which needs nothing but the driver and
# libcublasLt.so.13 here:
#
#     cmake --preset relocatable && cmake --build --preset relocatable
#     cmake --install build/relocatable --prefix DIR
#
# PRENORM_PEER_PYTHON names a Python with torch; PRENORM_RECORD_SEEDS the seeds (1 2). Exit code:
# 0 all that ran passed, 1 something failed, 2 it cannot be run here.
set -u

usage() { sed -n '2,19s/^# \{0,1\}//p' "$0"; }
here=$(cd "$(dirname "$0")" && pwd)
prefix= out=
while [ $# -gt 0 ]; do
  case $1 in
    --help) usage; exit 0 ;;
    --prefix) prefix=${2:?--prefix wants a folder}; shift ;;
    --*) usage >&2; exit 2 ;;
    *) out=$1 ;;
  esac
  shift
done

if [ -z "$prefix" ] && [ -x "$here/../../../bin/prenorm" ]; then
  prefix=$here/../../..  # the script as it is installed: share/prenorm/cuda/record.sh
fi
if [ -z "$prefix" ]; then
  root=$here/..
  out=${out:-$root/cuda/records}
  build=$root/build/record # apart from what the launcher has configured
  cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DPRENORM_NATIVE=ON \
    -DBUILD_TESTING=OFF -DPRENORM_CUDA=ON >/dev/null &&
    cmake --build "$build" --target shipped --parallel >/dev/null || {
    echo "record.sh: the build failed; 'cmake --build $build --target shipped' says why" >&2
    exit 2
  }
  prefix=$build
fi
mkdir -p "${out:=records}" || exit 2
prenorm=$prefix/bin/prenorm
[ -x "$prenorm" ] || { echo "record.sh: there is no $prenorm" >&2; exit 2; }
summary=$out/summary.txt
: >"$summary"
failed=0

# step SECONDS NAME COMMAND...: runs within a time limit, keeps what is printed in OUT/NAME.log.
step() {
  limit=$1 name=$2
  shift 2
  started=$(date +%s)
  timeout "$limit" "$@" >"$out/$name.log" 2>&1
  status=$?
  took=$(($(date +%s) - started))
  case $status in
    0) verdict=passed ;;
    124) verdict="cut off after $limit s" failed=1 ;;
    *) verdict="exit code $status" failed=1 ;;
  esac
  printf '%-28s %-24s %4d s\n' "$name" "$verdict" "$took" | tee -a "$summary"
}

"$prenorm" doctor --no-color >"$out/doctor.log" 2>&1
"$prenorm" verify --no-color --solution cuda --problem relu >"$out/first.log" 2>&1
if [ $? = 3 ]; then  # nothing ran
  tail -n 1 "$out/first.log" >&2
  exit 2
fi

step 120 fixtures "$prenorm" verify --no-color --solution reference --solution cuda \
  --solution cuda-naive --solution cuda-tf32 --record "$out" --json "$out/fixtures.json"
for seed in ${PRENORM_RECORD_SEEDS:-1 2}; do
  step 90 "seed_$seed" "$prenorm" verify --no-color --seed "$seed" --solution cuda \
    --solution cuda-naive --solution cuda-tf32 --json "$out/seed_$seed.json"
done

# The four tools see what no comparison does. Each slows a call down a hundredfold, so two element
# types stand for four.
if command -v compute-sanitizer >/dev/null 2>&1; then
  for tool in memcheck racecheck initcheck synccheck; do
    step 60 "$tool" compute-sanitizer --tool "$tool" --target-processes all --error-exitcode 9 \
      "$prenorm" verify --no-color --jobs 1 --timeout 600 --dtype float32 --dtype bfloat16 \
      --solution cuda --solution cuda-naive
  done
else
  echo "compute-sanitizer            not here: not run" | tee -a "$summary"
fi

python=${PRENORM_PEER_PYTHON:-python3}
if "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  step 200 bench "$prenorm" bench --no-color --solution cuda --pytorch "$python" \
    --json "$out/bench.json" --svg "$out/roofline.svg"
else
  step 150 bench "$prenorm" bench --no-color --solution cuda --json "$out/bench.json" \
    --svg "$out/roofline.svg"
  echo "PyTorch with CUDA            not here: no rival measured" | tee -a "$summary"
fi

cat "$out/fixtures.log" "$out/bench.log"
echo
cat "$summary"
exit "$failed"
