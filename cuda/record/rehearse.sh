#!/bin/sh
# record.sh --rehearse [OPTION]... [KIT] [-- WORDS of record.sh]: all of cuda/record.sh without a
# device. Packs a kit where none is named, unpacks it elsewhere, and runs the record in it with a fake
# driver and the emulated kernels in the place of the device's, at small shapes, with fake tools and
# short time limits; then checks what came out. That is no record of a device: its device is called
# fake, and its times mean nothing.
#
#   --out DIR          keep archive and summary here
#   --without THING    plant its absence: libcublasLt, PyTorch, compute-sanitizer or ncu
#   --skip STEP        a step that the kit was not built for
#   --blind            compute-sanitizer finds nothing
#   --hang TEXT        a command of prenorm with TEXT in its words hangs
#   --crash TEXT       one crashes
#
# PRENORM_REHEARSAL_BUILD names a build with tests (build/release), PRENORM_TEST_PYTHON a Python with
# h5py and PyTorch (/usr/bin/python3), PRENORM_RECORD_SECONDS the time for all (300). Exit code: that of
# the record, or 2 where its archive is not as it must be.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${PRENORM_REHEARSAL_BUILD:-$root/build/release}
python=${PRENORM_TEST_PYTHON:-/usr/bin/python3}
kit='' out='' without='' skip='' finds=9 hang='' crash=''
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift ;;
    --without) without="$without $2 "; shift ;;
    --skip) skip=$2; shift ;;
    --blind) finds=0 ;;
    --hang) hang=$2; shift ;;
    --crash) crash=$2; shift ;;
    --) shift; break ;;
    --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *) kit=$1 ;;
  esac
  shift
done
die() {
  echo "record.sh: $*" >&2
  exit 2
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cublaslt=libcublasLt.so.00
here=$folder/elsewhere tools=$folder/tools
mkdir "$here" "$tools"

has() { case "$without" in *" $1 "*) return 1 ;; esac; }

# program FILE: one of the fake machine, from standard input.
program() {
  { echo '#!/bin/sh'; cat; } >"$1"
  chmod +x "$1"
}

# The kit, with the emulated kernels, small shapes, and failures planted in the program.
unpack_kit() {
  tar -xJf "$kit" -C "$here"
  cp "$build/tests/rehearsal/"libprenorm_*.so "$here/lib/prenorm/"
  # Under another name, for this machine may have the library itself.
  mv "$here/libexec/record/stand-in/libcublasLt.so.13" "$here/libexec/record/stand-in/$cublaslt"
  sed -i "s/libcublasLt.so.13/$cublaslt/" "$here/share/prenorm/cuda/record.sh" \
    "$here/libexec/record/stand-in/$cublaslt" "$here/lib/prenorm/"libprenorm_cuda*.so
  "$python" "$root/cuda/record/shrink.py" "$here"
  # The rival runs on the CPU.
  sed -i 's/request\["device"\]/"cpu"/; s/variants(arguments.device/variants("cpu"/' \
    "$here/share/prenorm/bench/peers/pytorch.py"
  # Here the suites are tests of their own: the record's only has to be there.
  program "$here/libexec/record/device-tests" <<END
for tests in test_kernels test_composed_cuda test_attention_wgmma test_linear_wgmma; do
  [ ! -x "$build/bin/\$tests" ] || "$build/bin/\$tests" --list_content 2>&1
done | grep -x "\${1#--run_test=}\*"
END
  if [ -n "$skip" ]; then
    mkdir -p "$here/libexec/record/skipped"
    echo "built for a rehearsal" >"$here/libexec/record/skipped/$skip"
  fi
  mv "$here/bin/prenorm" "$here/bin/prenorm-itself"
  program "$here/bin/prenorm" <<END
case " \$* " in
  *"${hang:-nothing}"*) sleep 1000 ;;
  *"${crash:-nothing}"*) kill -s SEGV \$\$ ;;
esac
exec "$here/bin/prenorm-itself" "\$@"
END
}

# What else the fake machine has.
make_tools() {
  packages=$folder/packages/nvidia/cu13/lib
  if has libcublasLt; then
    mkdir -p "$packages"
    cp "$here/libexec/record/stand-in/$cublaslt" "$packages"
  fi
  program "$tools/python3" <<END
export PYTHONPATH=$folder/packages
case "\$*" in *cuda.is_available*) $(has PyTorch && echo echo rehearsed || echo exit 1); exit ;; esac
exec $python "\$@"
END
  if has compute-sanitizer; then
    program "$tools/compute-sanitizer" <<END
case "\$*" in *planted*) exit $finds ;; esac
while [ "\${1##*/}" != prenorm ]; do shift; done
exec "\$@"
END
  fi
  if has ncu; then
    program "$tools/ncu" <<'END'
while [ "${1##*/}" != prenorm ]; do
  [ "$1" != --log-file ] || log=$2
  shift
done
"$@" && echo '"ID","Kernel Name","dram__bytes_read.sum"' >"$log"
END
  fi
}

# The archive unpacks, and has what every machine gives.
check() {
  [ "$(cd "$folder/out" && echo *)" = "record.tar.gz summary.txt" ] ||
    die "the rehearsal left $(cd "$folder/out" && echo *)"
  mkdir "$folder/unpacked"
  tar -xzf "$folder/out/record.tar.gz" -C "$folder/unpacked" || die "the archive does not unpack"
  cmp -s "$folder/unpacked/record/summary.txt" "$folder/out/summary.txt" ||
    die "the archive is older than the summary"
  [ "$(wc -l <"$folder/out/summary.txt")" -le 50 ] || die "the summary fills more than a screen"
}

if [ -z "$kit" ]; then
  kit=$folder/kit.tar.xz
  sh "$root/cuda/record/pack.sh" "$kit"
fi
cmake --build "$build" --target rehearsal >"$folder/log" 2>&1 || die "$(tail -n 20 "$folder/log")"
unpack_kit
make_tools
status=0
PATH="$tools:$PATH" PRENORM_RECORD_SECONDS=${PRENORM_RECORD_SECONDS:-300} \
  PRENORM_CUDA_DRIVER=$build/tests/rehearsal/libfake_cuda_at_once.so \
  "$here/share/prenorm/cuda/record.sh" "$@" "$folder/out" || status=$?
check
if [ -n "$out" ]; then
  mkdir -p "$out"
  cp "$folder/out/"* "$out"
fi
exit "$status"
