#!/bin/sh
# Runs the tests of blob/hdfs, and golden files of all formats, on a real HDFS that lives as long as they do: test.sh [ARGUMENTS OF go test]
set -e
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
mkfifo "$dir/in" "$dir/out"
"$here/run.sh" "$dir/cluster" 3 <"$dir/in" >"$dir/out" &
exec 3>"$dir/in" # the cluster ends when this is closed
trap 'exec 3>&-; wait; rm -rf "$dir"' EXIT
read -r namenode <"$dir/out" || { cat "$dir/cluster/log" >&2; exit 1; }
cd "$here/../../.."
THOLE_TEST_STORE=hdfs://$namenode/models go test -count 1 -run 'TestGoldens$|TestGoldensWritten' ./format/all 3>&-
THOLE_TEST_HDFS=$namenode THOLE_TEST_HDFS_RUN=$here/run.sh go test -count 1 ./blob/hdfs "$@" 3>&-
