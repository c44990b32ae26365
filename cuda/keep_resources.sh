#!/bin/sh
# keep_resources.sh NVCC ARGUMENT...: compiles, and keeps what tests read of the kernels: what ptxas
# reports of their registers, shared memory and spills (OBJECT.resources), and their PTX (OBJECT.ptx).
object=
previous=
for argument in "$@"; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
said=$object.resources
kept=$object.kept
mkdir -p "$kept"
"$@" --keep --keep-dir "$kept" 2>"$said"
status=$?
cat "$kept"/*.ptx >"$object.ptx" 2>/dev/null
rm -rf "$kept"
# All other messages are passed on.
grep -v -E '^ptxas info|bytes stack frame' "$said" >&2
exit "$status"
