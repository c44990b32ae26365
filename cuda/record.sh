#!/bin/sh
# record.sh [--prefix DIR] [--fixtures DIR] [--only STEPS] [OUT]: what a device says of the CUDA
# solutions, all in one command. From a checkout also:
#
#     record.sh --pack FILE [--arch 90a] [--without-fixtures]
#                                             make the kit to carry to a machine with a device
#     record.sh --rehearse [KIT]              run it here, with the emulated kernels as the device's
#     record.sh --unpack ARCHIVE...           put what came back into cuda/records
#
# On a machine with a device it leaves two files in OUT (else ./record): record.tar.gz, which is
# kept up to date all the time, and summary.txt, which is also printed last. In the archive: the
# device records that `prenorm verify` shows, each bench row as a line of JSON, and all logs.
#
#     mkdir kit && tar -xJf kit.tar.xz -C kit && kit/share/prenorm/cuda/record.sh OUT
#     (without xz: python3 -m tarfile -e kit.tar.xz kit)
#
# A kit without fixtures, for a machine that has the checkout too, takes those of --fixtures.
# It ends within ten minutes. Each step has a time limit of its own, the most useful ones come first,
# and what finds no time left is not run; a step that fails or is cut off costs only itself. --only
# 'first_cuda memcheck' runs just these, with the ten minutes for them.
#
# A kit needs nothing but the driver; what else it finds it uses: libcublasLt.so.13, a Python with
# PyTorch (PRENORM_PEER_PYTHON, else python3), compute-sanitizer, ncu. Without a kit or --prefix (an
# installation), it builds the checkout first. PRENORM_RECORD_SECONDS is another limit for all (560);
# the steps' limits change with it. Exit code: 0 all that ran passed, 1 something failed, 2 it cannot
# be run here.
set -u

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; }
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
prefix='' fixtures='' out='' only=''
while [ $# -gt 0 ]; do
  case $1 in
    --help) usage; exit 0 ;;
    --prefix) prefix=${2:?--prefix wants a folder}; shift ;;
    --fixtures) fixtures=${2:?--fixtures wants a folder}; shift ;;
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

# Prints the folder of libcublasLt.so.13 outside the loader's path: in a Python's packages, whose
# PyTorch then loads the one that is its own, or in the toolkit.
cublaslt_folder() {
  for python in "${PRENORM_PEER_PYTHON:-python3}" python3; do
    packages_of "$python" | sed 's,$,/nvidia/cu13/lib,p; s,/cu13/lib$,/cublas/lib,'
  done >"$work/.folders"
  for folder in "${CUDA_HOME:-/usr/local/cuda}" "${CUDA_PATH:-/usr/local/cuda}" /usr/local/cuda*; do
    printf '%s\n' "$folder/lib64" "$folder/lib" "$folder/targets/x86_64-linux/lib"
  done >>"$work/.folders"
  while read -r folder; do
    [ -f "$folder/libcublasLt.so.13" ] && echo "$folder" && break
  done <"$work/.folders"
  rm "$work/.folders"
}

# Sees to it that the driver is found where containers have it and the loader does not look.
provide_driver() {
  [ -z "${PRENORM_CUDA_DRIVER:-}" ] && ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1 ' || return
  for folder in /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib/wsl/lib; do
    [ ! -f "$folder/libcuda.so.1" ] || look_in "$folder"
  done
}

# look_in FOLDER: for shared libraries, before elsewhere.
look_in() { export LD_LIBRARY_PATH="$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; }

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
  look_in "$folder"
}

# Keeps a context on the device as long as this runs, where there is a Python: a device without one is
# initialized again for each process, which takes seconds.
keep_device_awake() {
  driver=${PRENORM_CUDA_DRIVER:-libcuda.so.1}
  "${PRENORM_PEER_PYTHON:-python3}" -c "
import ctypes, time
driver, device, mode, context = ctypes.CDLL('$driver'), *map(ctypes.c_int, (0, 0)), ctypes.c_void_p()
driver.cuInit(0), driver.cuDeviceGet(ctypes.byref(device), 0)
driver.cuDeviceGetAttribute(ctypes.byref(mode), 20, device)
if mode.value == 0:  # the device may be shared
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), time.sleep($seconds)" \
    >"$work/logs/awake.log" 2>&1 &
  awake=$!
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

# --- The record -----------------------------------------------------------------------------------

[ -n "$prefix" ] || find_prefix
prefix=$(cd "$prefix" && pwd) || exit 2
prenorm=$prefix/bin/prenorm
export PRENORM_HOME="$prefix"
[ -x "$prenorm" ] || die "there is no $prenorm"
if [ -n "$fixtures" ]; then
  fixtures=$(cd "$fixtures" && pwd) || exit 2
  [ ! -L "$prefix/share/prenorm/fixtures" ] || rm "$prefix/share/prenorm/fixtures"
  [ -e "$prefix/share/prenorm/fixtures" ] || ln -s "$fixtures" "$prefix/share/prenorm/fixtures" ||
    die "$prefix cannot be written to"
fi
ls "$prefix/share/prenorm/fixtures/"*.h5 >/dev/null 2>&1 ||
  die "the kit has no fixtures: --fixtures wants a checkout's"
extras=$prefix/libexec/record
mkdir -p "${out:=record}" && out=$(cd "$out" && pwd) || exit 2
temporary=$(mktemp -d) || exit 2
work=$temporary/record
mkdir "$work" "$work/logs" "$work/verify" "$work/records" "$work/bench"
: >"$work/summary.txt"
[ ! -f "$extras/kernels.csv" ] || cp "$extras/kernels.csv" "$work"
awake=''
trap '[ -z "$awake" ] || kill "$awake" 2>/dev/null; rm -rf "$temporary" "$out"/.new.*' EXIT
cd "$temporary" || exit 2 # no fixtures beside: those of the kit are meant
# shellcheck source=record/steps.sh
. "$here/record/steps.sh"
trap 'save; exit 1' HUP INT TERM
failed=0
deadline=$(($(date +%s) + seconds))

provide_driver
provide_cublaslt
keep_device_awake
! command -v nvidia-smi >/dev/null || timeout 20 nvidia-smi -q >"$work/logs/nvidia-smi.log" 2>&1
timeout -k 5 60 "$prenorm" doctor --no-color >"$work/logs/doctor.log" 2>&1
note device "$(sed -n 's/^CUDA device *[a-z]* *//p' "$work/logs/doctor.log")"
timeout -k 5 60 "$prenorm" verify --no-color --solution cuda-naive --problem relu \
  --case by_hand_float32 >"$work/logs/device.log" 2>&1
[ $? != 124 ] || echo "nothing ran: no answer within 60 s" >>"$work/logs/device.log"
if reason=$(grep '^nothing ran' "$work/logs/device.log"); then
  note device "$reason"
  save
  die "$reason"
fi
# Where containers have the tools and the path does not lead.
PATH=$PATH:/usr/local/cuda/bin
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
