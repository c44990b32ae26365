#!/bin/sh
# keep_resources.sh NVCC ARGUMENT...: compiles, and writes what ptxas reports of each kernel's
# registers, shared memory and spills to OBJECT.resources.
object=
previous=
for argument in "$@"; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
said=$object.resources
"$@" 2>"$said"
status=$?
# All other messages are passed on.
grep -v -E '^ptxas info|bytes stack frame' "$said" >&2
exit "$status"
