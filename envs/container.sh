#!/bin/sh
# Sets up a bare Debian, as root, for `make paper`: Debian's packages, the harness and the environments of the default
# study. Measures nothing. The Containerfile runs this script, and tests/debian runs it in a bare tree.
set -eu
cd "$(dirname "$0")/.."
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq install -y --no-install-recommends python3 git make ca-certificates
make set-up STUDIES=tables
apt-get clean
rm -rf /var/lib/apt/lists/*
