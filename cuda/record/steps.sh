# The steps of record.sh, which sources this. Uses its variables: prenorm, extras, peer, sanitizers (the
# program, the kit's extras, a Python with PyTorch or nothing, whether there are sanitizers), work, out
# (folders), seconds, usual_seconds, deadline; sets failed.
# shellcheck shell=sh disable=SC2154  # assigned by record.sh

# note WHAT TEXT: a line of the summary.
note() { printf '%-28s %s\n' "$1" "$2" | tee -a "$work/summary.txt"; }

# Brings the archive and the summary in OUT up to date. A reader never sees half of one, nor does one
# that is saved at the same time by a step's saver, whose tar outlives it. (tar's exit code 1: a log grew
# while it was read.)
save() {
  new=$(mktemp "$out/.new.XXXXXX") || return
  tar -C "$work/.." -czf "$new" record
  if [ $? -le 1 ] && chmod 644 "$new"; then mv "$new" "$out/record.tar.gz"; else rm -f "$new"; fi
  cp "$work/summary.txt" "$out/summary.txt"
}

# While a long step runs: whoever ends the record then takes at most the last seconds of it.
keep_saving() { while sleep 15 && kill -0 $$ 2>/dev/null; do save; done; }

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

# selected NAME: whether --only leaves the step.
selected() {
  steps="${steps:-} $1"
  case " ${only:-$1} " in *" $1 "*) ;; *) return 1 ;; esac
}

# run SECONDS NAME COMMAND...: runs within a time limit, keeps what is printed in logs/NAME.log. Sets
# code to the exit code, 124 if it was cut off; empty if no time was left, which the summary says.
run() {
  limit=$(($1 * seconds / usual_seconds)) name=$2 code=''
  shift 2
  started=$(date +%s)
  left=$((deadline - started))
  [ "$limit" -le "$left" ] || limit=$left
  if [ "$limit" -lt 2 ]; then
    note "$name" "no time left: not run"
    return
  fi
  keep_saving >/dev/null 2>&1 &
  saver=$!
  timeout -k 5 "$limit" "$@" >"$work/logs/$name.log" 2>&1
  code=$?
  kill -s KILL "$saver" # a TERM is lost where the step ends before the new shell has dropped our traps
  wait "$saver" 2>/dev/null
  took=$(($(date +%s) - started))
}

# step SECONDS NAME COMMAND...: runs if it is selected and this build has what it takes, and reports.
step() {
  selected "$2" || return
  if [ -f "$extras/skipped/$2" ]; then
    note "$2" "skipped: $(cat "$extras/skipped/$2")"
    return
  fi
  run "$@"
  report "$2"
}

# report NAME: writes the line of the summary for what was run, and saves.
report() {
  case $code in
    '') return ;;
    0) verdict=passed ;;
    3) verdict="not for this device" ;;  # nothing ran, and so nothing failed
    124 | 137) verdict="cut off" failed=1 ;;
    *) verdict=FAILED failed=1 ;;
  esac
  note "$1" "$(printf '%-20s %4d s  %s' "$verdict" "$took" "$(gist "$1")")"
  save
}

# verify SECONDS NAME WORDS...
verify() {
  limit=$1 name=$2
  shift 2
  step "$limit" "$name" "$prenorm" verify --no-color \
    --json-lines "$work/verify/$name.jsonl" "$@"
}

# bench SECONDS NAME WORDS...: rows are written as they are measured. The word --rivals stands for
# PyTorch, where it is.
bench() {
  limit=$1 name=$2
  shift 2
  for word in "$@"; do
    shift
    [ "$word" = --rivals ] || { set -- "$@" "$word"; continue; }
    [ -z "$peer" ] || set -- "$@" --pytorch "$peer"
  done
  step "$limit" "bench_$name" "$prenorm" bench --no-color --quick --timeout 60 \
    --json-lines "$work/bench/bench_$name.jsonl" "$@"
}

# sanitize SECONDS NAME TOOL WORDS...: words of verify under compute-sanitizer, whose exit code is 9
# where it found something. It watches one process, so the solution runs in the program's own.
sanitize() {
  limit=$1 name=$2 tool=$3
  shift 3
  run "$limit" "$name" compute-sanitizer --target-processes application-only --error-exitcode 9 \
    --tool "$tool" "$prenorm" verify --in-process --no-color --timeout 600 "$@"
}

# sanitizer SECONDS TOOL BUG: it sees what no comparison does, if it finds the bug that was planted for
# it. It slows a call down a hundredfold, so small cases of two element types stand for all.
# Attention v4 is a step of its own: whether a sanitizer understands its asynchronous copies and
# products is not known, and its word on the other kernels must not depend on that.
sanitizer() {
  long=$1 tool=$2 bug=$3
  [ -n "$sanitizers" ] && selected "$tool" || return
  sanitize 20 "${tool}_planted" "$tool" --problem relu --case by_hand_float32 \
    --solution "$extras/libplanted.so/$bug"
  if [ "$code" != 9 ]; then
    note "$tool" "did not find a planted bug (exit code ${code:-none}): not run"
    return
  fi
  if [ "$tool" = racecheck ]; then # a hundred times as slow as the others
    sanitize "$long" "$tool" "$tool" --case 'by_hand_*' --case 'no_batch_*' --dtype bfloat16 \
      --solution cuda
  elif [ "$tool" = initcheck ]; then # blind to what the copy engine stores, as 16-bit products do
    sanitize "$long" "$tool" "$tool" --case 'by_hand_*' --case 'no_batch_*' --case '*_257_*' \
      --dtype float32 --solution cuda-naive --solution cuda
    report "$tool"
    return
  else
    sanitize "$long" "$tool" "$tool" --case 'by_hand_*' --case 'no_batch_*' --case '*_257_*' \
      --dtype float32 --dtype bfloat16 --solution cuda-naive --solution cuda
  fi
  report "$tool"
  sanitize 20 "${tool}_v4" "$tool" --case '*_257_*' --case 'heads_of_*' --dtype bfloat16 \
    --problem scaled_dot_product_attention --solution cuda/v4
  report "${tool}_v4"
  sanitize 20 "${tool}_v5" "$tool" --case 'tiles_*' --case 'square_*' --dtype bfloat16 \
    --problem linear --solution cuda/v5  # with rows of 16 bytes, which v5 wants
  report "${tool}_v5"
  sanitize 30 "${tool}_named" "$tool" --case 'by_hand_*' --case 'no_batch_*' --case '*_257_*' \
    --solution cuda/bf16x6 --solution cuda/bf16x6_wgmma --solution cuda/split_keys
  report "${tool}_named"
}

# Counters of the device for kernels that memory bounds.
counters() {
  has_tool ncu || return
  sectors=l1tex__t_sectors_pipe_lsu_mem_global_op requests=l1tex__t_requests_pipe_lsu_mem_global_op
  metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum
  metrics=$metrics,${sectors}_ld.sum,${sectors}_st.sum,${requests}_ld.sum,${requests}_st.sum
  step "$1" counters ncu --target-processes application-only --csv --page raw \
    --print-units base --print-kernel-base mangled \
    --clock-control none --kernel-name 'regex:rmsnorm|softmax|activ|rope|embedding' \
    --log-file "$work/counters.csv" --metrics "$metrics" \
    "$prenorm" bench --in-process --no-color --samples 1 --dtype bfloat16 --solution cuda \
    --shape rmsnorm_8192x4096 --shape softmax_8192x4096 --shape softmax_8192x4096_axis_0 \
    --shape silu_llama3 --shape gelu_gpt2 --shape rope_llama3 --shape embedding_gpt2
}

# kernel_tests: sizes to 1024, strides, masks and values that no fixture has; each suite by itself, for
# after a fault a process cannot use the device again.
kernel_tests() {
  for suite in product linear_steps cuda_activations cuda_attention attention_mma hopper_attention \
    hopper_product composed; do
    step 60 "test_$suite" "$extras/device-tests" "--run_test=$suite" --log_level=test_suite \
      --color_output=no
  done
}

# Cases that between them take every kernel, in all dtypes that it has: by hand, of usual sizes, and
# beyond a warp, a block and a tile.
first() {
  verify 40 "first_$(echo "$1" | tr / _)" --solution "$1" --record "$work/records" --timeout 30 \
    --case 'by_hand_*' --case 'no_batch_*' --case '*_257_*' --case 'heads_of_*'
}

# What is right comes before what is fast, and of each what is worth most first.
all_steps() {
  for solution in cuda cuda-naive cuda-tf32 cuda/v4 cuda/v2 cuda/batch_invariant; do
    first "$solution"
  done
  kernel_tests
  for solution in cuda cuda-naive cuda-tf32 cuda/v4 cuda/v5 cuda/v3 cuda/v2 cuda/bf16x6 \
    cuda/bf16x6_wgmma cuda/split_keys cuda/batch_invariant; do
    verify 90 "fixtures_$(echo "$solution" | tr / _)" --solution "$solution" \
      --record "$work/records"
  done
  sanitizer 40 memcheck out_of_bounds
  sanitizer 40 racecheck race
  counters 80
  find_peer
  bench_float32
  bench_bfloat16
  bench_ladders
  for seed in 1 2; do
    verify 60 "seed_$seed" --seed "$seed" --case 'no_batch_*' --case '*_257_*' --case 'heads_of_*' \
      --solution cuda --solution cuda-naive --solution cuda-tf32  # of all cases: some minutes
  done
  sanitizer 40 synccheck diverged
  sanitizer 40 initcheck unwritten
  bench_compiled
}

# All shapes in one run, for each measures the product's ceiling and starts PyTorch: about 30 s. First
# those that no record has yet: sequences of 16384, which no fixture has either, but bench compares its
# outputs, as with positions to 131071.
bench_bfloat16() {
  bench 240 bfloat16 --dtype bfloat16 --solution cuda --solution cuda/v4 --rivals \
    --shape '*_16384_*' --shape 'multihead_*' --shape 'block_*' --shape rmsnorm_8192x4096 \
    --shape softmax_8192x4096 --shape rope_llama3 --shape softmax_8192x4096_axis_0 \
    --shape embedding_gpt2 --shape attention_llama3_4096_causal --shape 'attention_decode_*' \
    --shape attention_phi3_4096_causal --shape rmsnorm_4096x16384 \
    --shape softmax_1024x131072 --shape rope_llama3_far \
    --shape attention_llama3_4096_full --shape silu_llama3 --shape gelu_gpt2 \
    --shape attention_llama3_8192_causal --shape linear_llama3_up --shape ffn_swiglu_llama3 \
    --shape 'attention_*_documents' --shape 'attention_*_mask' --shape lm_tinystories --shape '*'
}

# The steps of each ladder. The first takes minutes at the product that is the others' ceiling, so it is
# timed at the shapes for a CPU alone.
bench_ladders() {
  bench 50 ladders --set cpu --solution cuda-naive --solution cuda/v2 --solution cuda
  bench 60 ladders_16 --dtype bfloat16 --shape attention_gpt2_causal \
    --solution cuda/v2 --solution cuda/v3 --solution cuda --solution cuda/v4
  bench 60 ladders_product --dtype bfloat16 --shape product --solution cuda/v2 --solution cuda/v3 \
    --solution cuda/v4 --solution cuda/v5 --solution cuda/batch_invariant --solution cuda
}

bench_float32() {
  bench 120 float32 --dtype float32 --solution cuda --solution cuda/bf16x6 --solution cuda/bf16x6_wgmma \
    --solution cuda-tf32 --rivals --shape 'attention_llama3_4096_[cf]*' --shape product \
    --shape rmsnorm_8192x4096 --shape 'softmax_*' --shape rope_llama3
}

bench_compiled() {
  [ -z "$peer" ] || bench 150 compiled --shape block_llama3_4096 --shape block_gpt2 --solution cuda \
    --rivals --compile
}
