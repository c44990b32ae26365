#!/bin/sh
# keep_resources.sh NVCC ARGUMENT...: compiles, and keeps what ptxas says of each kernel's registers,
# shared memory and spills beside the object, in OBJECT.resources.
object=
previous=
for argument in "$@"; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
said=$object.resources
"$@" 2>"$said"
status=$?
# What is no report of ptxas is for whoever builds.
grep -v -E '^ptxas info|bytes stack frame' "$said" >&2
exit "$status"
