#!/usr/bin/env bash
# Runs once, as root, when Gradescope builds the image: Python 3.11 or newer, torch for CPUs, and
# the course with the versions that it was tested with.
set -euo pipefail
source_folder=${AUTOGRADER:-/autograder}/source

export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
for version in 3.13 3.12 3.11; do
  if apt-get -qq install -y "python$version" "python$version-venv"; then break; fi
done
"python$version" -m venv /opt/course
pip=(/opt/course/bin/python -m pip --quiet install -c "$source_folder/course/constraints.txt")
"${pip[@]}" --no-deps --index-url https://download.pytorch.org/whl/cpu torch
"${pip[@]}" -e "$source_folder/course"
chmod 600 "$source_folder/key"
