#!/bin/sh
# record.sh --pack FILE [--arch ARCHITECTURE] [--without-fixtures]: the kit, all that cuda/record.sh
# needs on a machine with a device, as tar.xz. ARCHITECTURE is the one for which kernels are compiled:
# 90a (H100, H200), or another from 80 on. OpenBLAS takes 4 MB of it: bench compares with `fast`. Fixtures take
# 31 MB, which a machine that has the checkout too need not be sent. PRENORM_KIT_BUILD names the build
# folder (build/kit). A kit above 60 MB is refused.
set -eu

most_bytes=60000000
root=$(cd "$(dirname "$0")/../.." && pwd)
file='' architecture=90a fixtures=with
while [ $# -gt 0 ]; do
  case $1 in
    --arch) architecture=${2:?--arch wants an architecture}; shift ;;
    --without-fixtures) fixtures='' ;;
    --help) sed -n '2,6s/^# //p' "$0"; exit 0 ;;
    --*) sed -n '2,6s/^# //p' "$0" >&2; exit 2 ;;
    *) file=$1 ;;
  esac
  shift
done
[ -n "$file" ] || { echo "record.sh: --pack wants a file" >&2; exit 2; }

build=${PRENORM_KIT_BUILD:-$root/build/kit}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
kit=$folder/kit

# HDF5 can read from the web by libcurl, which nobody does here and which needs a dozen libraries: a
# stand-in has the names that HDF5 asks for, and what nothing needs any more goes.
without_web() {
  nm -D --undefined-only "$kit"/lib/libhdf5*.so* | sed -n 's/.* \(curl_[a-z_]*\)@\(.*\)/\1 \2/p' >"$folder/names"
  [ -s "$folder/names" ] || return 0
  sed 's/ .*//; s/.*/int &(void) { return -1; }/' "$folder/names" >"$folder/web.c"
  sed 's/.* //; s/$/ { global: *; };/' "$folder/names" | sort -u >"$folder/web.map"
  cc -shared -fPIC -s -Wl,-soname,libcurl.so.4 "-Wl,--version-script=$folder/web.map" -o "$kit/lib/libcurl.so.4" \
    "$folder/web.c" || return
  removed=yes
  while [ -n "$removed" ]; do
    removed=
    find "$kit" -type f -exec readelf -d {} + 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u \
      >"$folder/needed"
    for library in "$kit"/lib/*.so*; do
      grep -qxF "${library##*/}" "$folder/needed" || { rm "$library"; removed=yes; }
    done
  done
}

# Builds the kit and installs it into $kit.
make_kit() {
  cmake --preset kit -S "$root" -B "$build" "-DPRENORM_CUDA_ARCHITECTURES=$architecture-real" &&
    cmake --build "$build" && cmake --install "$build" --strip --prefix "$kit" && without_web
}
(cd "$root" && make_kit) >"$folder/log" 2>&1 || {
  tail -n 20 "$folder/log" >&2
  echo "record.sh: the kit cannot be built" >&2
  exit 2
}
rm -r "$kit/share/prenorm/records" # of devices before
[ -n "$fixtures" ] || rm -r "$kit/share/prenorm/fixtures"
tar -C "$kit" -c --owner=0 --group=0 --sort=name . | xz -T1 -9 >"$folder/kit.tar.xz"
bytes=$(wc -c <"$folder/kit.tar.xz")
echo "$file: $((bytes / 1000000)).$((bytes / 100000 % 10)) MB, $(du -sm "$kit" | cut -f 1) MiB unpacked"
if [ "$bytes" -gt "${PRENORM_KIT_BYTES:-$most_bytes}" ]; then
  echo "record.sh: that is too large; the largest files in it, in MiB:" >&2
  (cd "$kit" && find . -type f -size +1M -exec du -m {} + | sort -rn | head -n 12 >&2)
  exit 1
fi
mv "$folder/kit.tar.xz" "$file"
