#!/bin/sh
# record.sh [--prefix DIR] [--only STEPS] [OUT]: what a device says of the CUDA solutions, all in
# one command. From a checkout also:
#
#     record.sh --pack FILE [--arch 90a]      make the kit to carry to a machine with a device
#     record.sh --rehearse [KIT]              run it here, with the emulated kernels as the device's
#     record.sh --unpack ARCHIVE              put what came back into cuda/records
#
# On a machine with a device it leaves two files in OUT (else ./record): record.tar.gz, which is
# written anew after every step, and summary.txt, which is also printed last. In the archive: the
# device records that `prenorm verify` shows, each bench row as a line of JSON, and all logs.
#
#     mkdir kit && tar -xJf kit.tar.xz -C kit && kit/share/prenorm/cuda/record.sh OUT
#
# It ends within ten minutes. Each step has a time limit of its own, the most useful ones come first,
# and what finds no time left is not run; a step that fails or is cut off costs only itself. --only
# 'first fixtures' runs just these, with the ten minutes for them.
#
# A kit needs nothing but the driver; what else it finds it uses: libcublasLt.so.13, a Python with
# PyTorch (PRENORM_PEER_PYTHON, else python3), compute-sanitizer, ncu. Without a kit or --prefix (an
# installation), it builds the checkout first. PRENORM_RECORD_SECONDS is another limit for all (560);
# the steps' limits change with it. Exit code: 0 all that ran passed, 1 something failed, 2 it cannot
# be run here.
set -u

usage() { sed -n '2,26s/^# \{0,1\}//p' "$0"; }
die() {
  echo "record.sh: $*" >&2
  exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
case ${1:-} in
  --pack | --rehearse)
    command=$here/record/${1#--}.sh
    shift
    exec sh "$command" "$@" ;;
  --unpack)
    shift
    exec python3 "$here/record/unpack.py" "$@" ;;
esac
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

usual_seconds=560
seconds=${PRENORM_RECORD_SECONDS:-$usual_seconds}

# --- What is here ---------------------------------------------------------------------------------

# Sets prefix: the kit that this script is in, else a build of this checkout.
find_prefix() {
  if [ -x "$here/../../../bin/prenorm" ]; then  # share/prenorm/cuda/record.sh
    prefix=$(cd "$here/../../.." && pwd)
    return
  fi
  prefix=$here/../build/record # apart from what the launcher has configured
  { cmake -S "$here/.." -B "$prefix" -DCMAKE_BUILD_TYPE=Release -DPRENORM_NATIVE=ON \
    -DBUILD_TESTING=OFF -DPRENORM_CUDA=ON -DPRENORM_KIT=ON >/dev/null &&
    cmake --build "$prefix" --parallel >/dev/null; } ||
    die "the build failed; 'cmake --build $prefix' says why"
}

# The folders of a Python's packages.
packages_of() { "$1" -c 'import sys; print("\n".join(sys.path))' 2>/dev/null; }

# Prints the folder of libcublasLt.so.13 outside the loader's path: in the toolkit or in a Python's
# packages.
cublaslt_folder() {
  for folder in "${CUDA_HOME:-/usr/local/cuda}" "${CUDA_PATH:-/usr/local/cuda}" /usr/local/cuda*; do
    printf '%s\n' "$folder/lib64" "$folder/lib" "$folder/targets/x86_64-linux/lib"
  done >"$work/.folders"
  for python in "${PRENORM_PEER_PYTHON:-python3}" python3; do
    packages_of "$python" | sed 's,$,/nvidia/cu13/lib,p; s,/cu13/lib$,/cublas/lib,'
  done >>"$work/.folders"
  while read -r folder; do
    [ -f "$folder/libcublasLt.so.13" ] && echo "$folder" && break
  done <"$work/.folders"
  rm "$work/.folders"
}

# Sees to it that the solutions find libcublasLt.so.13, or the kit's stand-in.
provide_cublaslt() {
  if ! ldd "$prefix/lib/prenorm/libprenorm_cuda.so" | grep -q 'libcublasLt.*not found'; then
    note libcublasLt "on the loader's path"
    return
  fi
  folder=$(cublaslt_folder)
  if [ -n "$folder" ]; then
    note libcublasLt "$folder"
  else
    note libcublasLt "not here: products fail"
    folder=$extras/stand-in
  fi
  export LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

# Sets peer to a Python whose PyTorch has the device, or to nothing.
find_peer() {
  peer=${PRENORM_PEER_PYTHON:-python3}
  version=$(timeout 60 "$peer" -c \
    'import torch; assert torch.cuda.is_available(); print(torch.__version__)' 2>/dev/null)
  if [ -n "$version" ]; then
    note PyTorch "$version"
  else
    note PyTorch "not here: no rival measured"
    peer=''
  fi
}

# has_tool NAME
has_tool() {
  command -v "$1" >/dev/null 2>&1 && return 0
  note "$1" "not here: not run"
  return 1
}

# --- Steps ----------------------------------------------------------------------------------------

# note WHAT TEXT: a line of the summary.
note() { printf '%-28s %s\n' "$1" "$2" | tee -a "$work/summary.txt"; }

# Brings the archive and the summary in OUT up to date. A reader never sees half of one.
save() {
  tar -C "$work/.." -czf "$out/.new" record && mv "$out/.new" "$out/record.tar.gz"
  cp "$work/summary.txt" "$out/summary.txt"
}

# What a step's log, or the rows of a bench, say in one line.
gist() {
  rows=$work/bench/$1.jsonl
  if [ -f "$rows" ]; then
    all=$(grep -c '"contestant"' "$rows") timed=$(grep -c '"status":"OK"' "$rows")
    echo "$timed rows timed, $((all - timed)) not"
  else
    grep -aE '^[0-9]+ passed|^\*\*\*|error' "$work/logs/$1.log" | tail -n 1 | cut -c 1-60
  fi
}

# run SECONDS NAME COMMAND...: runs within a time limit, keeps what is printed in logs/NAME.log. Sets
# code to the exit code, 124 if it was cut off; empty if it was not run, for which a line is written
# where no time is left.
run() {
  limit=$(($1 * seconds / usual_seconds)) name=$2 code=''
  shift 2
  steps="${steps:-} $name"
  case " ${only:-$name} " in
    *" $name "*) ;;
    *) return ;;
  esac
  started=$(date +%s)
  left=$((deadline - started))
  [ "$limit" -le "$left" ] || limit=$left
  if [ "$limit" -lt 2 ]; then
    note "$name" "no time left: not run"
    return
  fi
  timeout -k 5 "$limit" "$@" >"$work/logs/$name.log" 2>&1
  code=$?
  took=$(($(date +%s) - started))
}

# step SECONDS NAME COMMAND...: runs, and writes the line of the summary.
step() {
  run "$@"
  case $code in
    '') return ;;
    0) verdict=passed ;;
    3) verdict="not for this device" ;;  # nothing ran, and so nothing failed
    124 | 137) verdict="cut off" failed=1 ;;
    *) verdict=FAILED failed=1 ;;
  esac
  note "$name" "$(printf '%-20s %4d s  %s' "$verdict" "$took" "$(gist "$name")")"
  save
}

# verify SECONDS NAME WORDS...
verify() {
  limit=$1 name=$2
  shift 2
  step "$limit" "$name" "$prenorm" verify --no-color \
    --json-lines "$work/verify/$name.jsonl" "$@"
}

# bench SECONDS NAME WORDS...: rows are written as they are measured, PyTorch's beside ours.
bench() {
  limit=$1 name=$2
  shift 2
  step "$limit" "bench_$name" "$prenorm" bench --no-color --quick \
    --json-lines "$work/bench/bench_$name.jsonl" "$@"
}

# proven TOOL BUG: whether the sanitizer finds a bug that was planted for it. It watches one process,
# so the solution runs in the program's own.
proven() {
  run 20 "$1_planted" compute-sanitizer --tool "$1" --error-exitcode 9 "$prenorm" verify \
    --in-process --no-color --problem relu --case by_hand_float32 \
    --solution "$extras/libplanted.so/$2"
  [ -n "$code" ] || return 1
  [ "$code" = 9 ] || note "$1" "did not find a planted bug (exit code $code): not run"
  [ "$code" = 9 ]
}

# sanitizer SECONDS TOOL BUG: it sees what no comparison does. It slows a call down a hundredfold, so
# small cases of two element types stand for all.
sanitizer() {
  [ -n "$sanitizers" ] && proven "$2" "$3" || return
  step "$1" "$2" compute-sanitizer --tool "$2" --error-exitcode 9 "$prenorm" verify --in-process \
    --no-color --timeout 600 --case 'by_hand_*' --case 'no_batch_*' --case '*_257_*' \
    --dtype float32 --dtype bfloat16 --solution cuda-naive --solution cuda --solution cuda/v4
}

# Counters of the device for kernels that memory bounds.
counters() {
  has_tool ncu || return
  metric=l1tex__t_sectors_pipe_lsu_mem_global_op
  requests=l1tex__t_requests_pipe_lsu_mem_global_op
  step "$1" counters ncu --csv --page raw --clock-control none --log-file "$work/counters.csv" \
    --metrics "gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,${metric}_ld.sum,${metric}_st.sum,${requests}_ld.sum,${requests}_st.sum" \
    "$prenorm" bench --in-process --no-color --samples 1 --dtype bfloat16 --solution cuda \
    --shape rmsnorm_8192x4096 --shape softmax_8192x4096 --shape softmax_axis_0 \
    --shape silu_llama3 --shape gelu_gpt2 --shape rope_llama3 --shape embedding_gpt2
}

# kernel_tests: sizes to 1024, strides, masks and values that no fixture has; each suite by itself, for
# after a fault a process cannot use the device again.
kernel_tests() {
  for suite in product cuda_attention attention_mma hopper_attention composed; do
    step 25 "test_$suite" "$extras/device-tests" "--run_test=$suite" --log_level=test_suite \
      --color_output=no
  done
}

# Cases that between them take every kernel, in all dtypes that it has: by hand, of usual sizes, and
# beyond a warp, a block and a tile.
first() {
  verify 20 "first_$(echo "$1" | tr / _)" --solution "$1" --record "$work/records" --timeout 10 \
    --case 'by_hand_*' --case 'no_batch_*' --case '*_257_*' --case 'heads_of_*'
}

# What is worth most comes first.
all_steps() {
  for solution in cuda cuda-naive cuda-tf32 cuda/v4 cuda/v2 cuda/batch_invariant; do
    first "$solution"
  done
  beside="${peer:+--pytorch $peer}"
  # shellcheck disable=SC2086  # an option and its value, or nothing
  {
  bench 50 attention --dtype bfloat16 --shape 'attention_llama3_4096_[cf]*' \
    --shape attention_llama3_8192_causal --solution cuda --solution cuda/v4 $beside
  bench 50 memory --dtype bfloat16 --shape rmsnorm_8192x4096 --shape softmax_8192x4096 \
    --shape softmax_axis_0 --shape silu_llama3 --shape gelu_gpt2 --shape rope_llama3 \
    --shape embedding_gpt2 --solution cuda $beside
  for solution in cuda cuda-naive cuda-tf32 cuda/v4 cuda/v2 cuda/batch_invariant; do
    verify 40 "fixtures_$(echo "$solution" | tr / _)" --solution "$solution" \
      --record "$work/records"
  done
  bench 50 block --dtype bfloat16 --shape block_llama3_4096 --shape ffn_swiglu_llama3 \
    --shape linear_llama3_up --shape block_gpt2 --solution cuda $beside
  # The steps of each ladder, where the first takes no minutes: at the shapes for a CPU.
  bench 40 ladders --set cpu --solution cuda-naive --solution cuda/v2 --solution cuda
  bench 20 ladders_16 --dtype bfloat16 --shape attention_gpt2_causal --solution cuda-naive \
    --solution cuda/v2 --solution cuda --solution cuda/v4
  kernel_tests
  sanitizer 40 memcheck out_of_bounds
  sanitizer 40 racecheck race
  counters 40
  # Sequences of 16384 and positions to 131071, which no fixture has: bench compares its outputs.
  bench 60 far --dtype bfloat16 --shape '*_16384_*' --shape '*_far' --solution cuda \
    --solution cuda/v4
  bench 40 masks --shape 'attention_*_mask' --shape attention_llama3_8192_documents \
    --solution cuda --solution cuda/v4 $beside
  for seed in 1 2; do
    verify 40 "seed_$seed" --seed "$seed" --solution cuda --solution cuda-naive \
      --solution cuda-tf32
  done
  sanitizer 40 synccheck diverged
  sanitizer 40 initcheck unwritten
  bench 40 float32 --dtype float32 --solution cuda --shape 'attention_llama3_4096_[cf]*' \
    --shape 'rmsnorm_*' --shape 'softmax_*' --shape rope_llama3 $beside
  bench 30 tf32 --dtype float32 --problem linear --solution cuda --solution cuda-tf32 $beside
  bench 120 others --dtype bfloat16 --problem 'multihead_*' --problem 'transformer_*' \
    --problem softmax --problem rmsnorm --problem linear --problem 'ffn_*' --solution cuda $beside
  [ -z "$beside" ] || bench 60 compiled --shape block_llama3_4096 --solution cuda --compile $beside
  }
}

# --- The record -----------------------------------------------------------------------------------

[ -n "$prefix" ] || find_prefix
prenorm=$prefix/bin/prenorm
[ -x "$prenorm" ] || die "there is no $prenorm"
extras=$prefix/libexec/record
mkdir -p "${out:=record}" && out=$(cd "$out" && pwd) || exit 2
temporary=$(mktemp -d) || exit 2
work=$temporary/record
mkdir "$work" "$work/logs" "$work/verify" "$work/records" "$work/bench"
: >"$work/summary.txt"
trap 'rm -rf "$temporary"' EXIT
trap 'save; exit 1' HUP INT TERM
failed=0
deadline=$(($(date +%s) + seconds))

provide_cublaslt
"$prenorm" doctor --no-color >"$work/logs/doctor.log" 2>&1
note device "$(sed -n 's/^CUDA device *[a-z]* *//p' "$work/logs/doctor.log")"
if ! "$prenorm" verify --no-color --solution cuda-naive --problem relu --case by_hand_float32 \
  >"$work/logs/device.log" 2>&1 && grep -q '^nothing ran' "$work/logs/device.log"; then
  die "$(tail -n 1 "$work/logs/device.log")"
fi
find_peer
sanitizers=''
! has_tool compute-sanitizer || sanitizers=here
all_steps
save
for name in $only; do
  case " $steps " in
    *" $name "*) ;;
    *) die "there is no step $name; there are:$steps" ;;
  esac
done
echo "$out/record.tar.gz"
exit "$failed"
