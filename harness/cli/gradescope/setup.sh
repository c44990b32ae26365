#!/bin/sh
# Gradescope runs this once, where it makes the image that every submission is graded in: installs
# what prenorm needs, and builds it, unless it came built. What it prints is in the log of the image.
set -eu

cd /autograder/source
# shellcheck source=/dev/null
. /etc/os-release
case ${ID:-}-${VERSION_ID:-} in
  debian-[1-9] | debian-1[01] | ubuntu-1* | ubuntu-20* | ubuntu-22*)
    echo "setup.sh: ${PRETTY_NAME:-this system} is too old for prenorm; wanted Debian 12 or as new" \
      "(Ubuntu 24.04; CMake 3.25, GCC 12, glibc 2.36) as the image's base" >&2
    exit 1
    ;;
esac

packages=
# shellcheck source=/dev/null
. ./settings.sh
if [ -n "$packages" ]; then
  apt-get update
  # dpkg syncs each file to the disk, which takes two thirds of the time. An image that was cut off is
  # made anew anyway.
  # shellcheck disable=SC2086  # several packages in one variable
  DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Options::=--force-unsafe-io install -y \
    --no-install-recommends $packages
fi

# The image is made on one machine and used on others: no instructions that only this one has.
if [ -f CMakeLists.txt ]; then
  PRENORM_CMAKE_ARGS=-DPRENORM_NATIVE=OFF ./prenorm build grade
fi
PRENORM_HOME=$PWD/build/release build/release/bin/prenorm doctor
