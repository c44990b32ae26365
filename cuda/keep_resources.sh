#!/bin/sh
# keep_resources.sh COMPILER ARGUMENT...: compiles, and keeps what ptxas reports of the kernels' registers,
# shared memory and spills (OBJECT.resources), for `prenorm profile` and the tests.
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
