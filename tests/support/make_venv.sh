#!/bin/sh
# Makes the Python environment of the tests of whole repositories: the current torch, einops and
# jaxtyping, from PyPI. PRENORM_TEST_VENV names its interpreter.
#
#   tests/support/make_venv.sh [FOLDER]      the default is build/test-venv
#
# PyPI's torch for x86 brings NVIDIA's libraries, without which it cannot be imported: 2.5 GB to
# download, 5.4 GB on disk. With PyTorch's own index of builds for the CPU in PIP_EXTRA_INDEX_URL it
# takes less than 1 GB. Set PYTHON to choose the interpreter.
set -eu

folder=${1:-$(dirname "$0")/../../build/test-venv}
works='import einops, h5py, jaxtyping, numpy, pytest, torch'

[ ! -x "$folder/bin/python" ] || ! "$folder/bin/python" -c "$works" 2>/dev/null || exit 0
echo "make_venv.sh: making $folder (some minutes, 5.4 GB)" >&2
rm -rf "$folder"
"${PYTHON:-/usr/bin/python3}" -m venv "$folder"
"$folder/bin/pip" install -q --no-cache-dir --disable-pip-version-check --retries 1 \
  torch einops jaxtyping numpy h5py pytest || {
  rm -rf "$folder"
  echo "make_venv.sh: PyPI cannot be reached, or has no torch for this Python" >&2
  exit 1
}
"$folder/bin/python" -c "$works"
