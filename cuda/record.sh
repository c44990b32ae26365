#!/bin/sh
# record.sh [--prefix DIR] [--only STEPS] [OUT]: what a device says of the CUDA solutions, all in
# one command.
#
# Runs, on a machine with a CUDA device: every fixture on the solutions and their variants, fresh
# cases of other seeds, compute-sanitizer over the fixtures, and the benchmarks beside PyTorch where
# there is one. Writes into OUT (else cuda/records of the checkout, or ./records): the device
# records that `prenorm verify` shows, reports as JSON, the roofline picture, logs; a summary stands
# in summary.txt and is printed last.
#
# From a checkout it builds what it needs (CMake, nvcc and the packages of the README). With
# --prefix DIR it uses an installation made elsewhere, which needs nothing but the driver and
# libcublasLt.so.13 here:
#
#     cmake --preset relocatable && cmake --build --preset relocatable
#     cmake --install build/relocatable --prefix DIR
#
# After the build it ends within ten minutes: each step has a limit of its own, the most useful ones
# come first, and what finds no time left is not run. --only 'bench_far bench' runs just these, with
# the ten minutes for them. PRENORM_PEER_PYTHON names a Python with torch, PRENORM_RECORD_SECONDS
# another limit for all (580). Exit code: 0 all that ran passed, 1 something failed, 2 it cannot be
# run here.
set -u

usage() { sed -n '2,25s/^# \{0,1\}//p' "$0"; }
here=$(cd "$(dirname "$0")" && pwd)
prefix='' out='' only=''
while [ $# -gt 0 ]; do
  case $1 in
    --help) usage; exit 0 ;;
    --prefix) prefix=${2:?--prefix wants a folder}; shift ;;
    --only) only=${2:?--only wants names of steps}; shift ;;
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
  if ! { cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DPRENORM_NATIVE=ON \
    -DBUILD_TESTING=OFF -DPRENORM_CUDA=ON >/dev/null &&
    cmake --build "$build" --target shipped --parallel >/dev/null; }; then
    echo "record.sh: the build failed; 'cmake --build $build --target shipped' says why" >&2
    exit 2
  fi
  prefix=$build
fi
mkdir -p "${out:=records}" || exit 2
prenorm=$prefix/bin/prenorm
[ -x "$prenorm" ] || { echo "record.sh: there is no $prenorm" >&2; exit 2; }
summary=$out/summary.txt
: >"$summary"
failed=0
deadline=$(($(date +%s) + ${PRENORM_RECORD_SECONDS:-580}))

# step SECONDS NAME COMMAND...: runs within a time limit, keeps what is printed in OUT/NAME.log.
step() {
  limit=$1 name=$2
  shift 2
  steps="${steps:-} $name"
  case " ${only:-$name} " in
    *" $name "*) ;;
    *) return ;;
  esac
  started=$(date +%s)
  left=$((deadline - started))
  [ "$limit" -le "$left" ] || limit=$left
  if [ "$limit" -lt 10 ]; then
    verdict="no time left: not run"
  else
    timeout "$limit" "$@" >"$out/$name.log" 2>&1
    status=$?
    case $status in
      0) verdict=passed ;;
      3) verdict="not for this device" ;;  # nothing ran, and so nothing failed
      124) verdict="cut off after $limit s" failed=1 ;;
      *) verdict="exit code $status" failed=1 ;;
    esac
  fi
  took=$(($(date +%s) - started))
  printf '%-28s %-24s %4d s\n' "$name" "$verdict" "$took" | tee -a "$summary"
}

# bench SECONDS NAME WORDS...: a step of timing, beside PyTorch where there is one. The JSON of one
# that was cut off is empty.
bench() {
  limit=$1 name=$2
  shift 2
  step "$limit" "$name" "$prenorm" bench --no-color --quick --json "$out/$name.json" \
    ${peer:+--pytorch "$peer"} "$@"
}

# sanitizer TOOL: it sees what no comparison does. It slows a call down a hundredfold, so two
# element types stand for four.
sanitizer() {
  step 60 "$1" compute-sanitizer --tool "$1" --target-processes all --error-exitcode 9 \
    "$prenorm" verify --no-color --jobs 1 --timeout 600 --dtype float32 --dtype bfloat16 \
    --solution cuda --solution cuda-naive --solution cuda/v4
}

"$prenorm" doctor --no-color >"$out/doctor.log" 2>&1
"$prenorm" verify --no-color --solution cuda --problem relu >"$out/first.log" 2>&1
if [ $? = 3 ]; then  # nothing ran
  tail -n 1 "$out/first.log" >&2
  exit 2
fi

peer=${PRENORM_PEER_PYTHON:-python3}
if ! "$peer" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
  echo "PyTorch with CUDA            not here: no rival measured" | tee -a "$summary"
  peer=''
fi
tools='memcheck racecheck initcheck synccheck'
if ! command -v compute-sanitizer >/dev/null 2>&1; then
  echo "compute-sanitizer            not here: not run" | tee -a "$summary"
  tools=''
fi

step 120 fixtures "$prenorm" verify --no-color --solution reference --solution cuda \
  --solution cuda-naive --solution cuda-tf32 --record "$out" --json "$out/fixtures.json"
# Each has some of the problems: attention for Hopper alone (NOT_IMPLEMENTED on other devices),
# earlier versions of the kernels, and what gives a sequence the same bits in every batch.
for variant in v4 v2 batch_invariant; do
  step 60 "$variant" "$prenorm" verify --no-color --solution "cuda/$variant" --record "$out" \
    --json "$out/$variant.json"
done
step 60 seed_1 "$prenorm" verify --no-color --seed 1 --solution cuda --solution cuda-naive \
  --solution cuda-tf32 --json "$out/seed_1.json"

# Sequences of 16384 and positions to 131071, which no fixture has: bench holds the outputs of its
# timed calls against the reference in float64, here all of those of the first call where a head
# alone is more than a check may take, else some heads of each call. `verify --seed` draws other
# values, and not other sizes.
bench 150 bench_16384 --shape '*_16384_*' --solution cuda --solution cuda/v4
bench 60 bench_far --shape '*_far' --solution cuda
bench 130 bench_attention --shape 'attention_gpt2_*' --shape 'attention_llama3_4096_*' \
  --shape 'attention_llama3_8192_*' --solution cuda --solution cuda/v2 --solution cuda/v4
bench 110 bench_blocks --problem 'multihead_*' --problem 'transformer_block*' --solution cuda \
  --solution cuda/batch_invariant
for tool in $tools; do
  case $tool in memcheck | racecheck) sanitizer "$tool" ;; esac
done
bench 120 bench --problem linear --problem embedding --problem rmsnorm --problem silu \
  --problem gelu --problem softmax --problem rope --problem 'ffn_*' --solution cuda \
  --svg "$out/roofline.svg"
[ -z "$peer" ] || bench 120 bench_compiled --shape block_llama3_4096 --solution cuda --compile
for tool in $tools; do
  case $tool in memcheck | racecheck) ;; *) sanitizer "$tool" ;; esac
done
step 60 seed_2 "$prenorm" verify --no-color --seed 2 --solution cuda --solution cuda-naive \
  --solution cuda-tf32 --json "$out/seed_2.json"

for log in fixtures bench_attention bench_blocks bench_16384 bench_far bench; do
  [ ! -f "$out/$log.log" ] || cat "$out/$log.log"
done
echo
cat "$summary"
for name in $only; do
  case " $steps " in
    *" $name "*) ;;
    *) echo "record.sh: there is no step $name; there are:$steps" >&2; failed=2 ;;
  esac
done
exit "$failed"
