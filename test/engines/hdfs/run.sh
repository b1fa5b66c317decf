#!/bin/sh
# Starts a real HDFS on loopback, whose files are in a folder: run.sh FOLDER [DATANODES [NAMENODES [PROTECTION]]]
# With a protection, such as authentication or privacy (dfs.data.transfer.protection), it wants Kerberos, and starts a KDC.
# It prints the addresses of the namenodes and runs until its standard input ends, or SIGTERM; src/main/java/Cluster.java says what
# the lines of the input can ask for. The first start fetches Hadoop with Maven; later ones need no network.
set -e
[ -n "$1" ] || { echo "usage: run.sh FOLDER [DATANODES [NAMENODES [PROTECTION]]]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
jar=$here/target/hdfs-cluster-1.jar
if [ ! -s "$jar" ] || [ "$here/pom.xml" -nt "$jar" ] || [ "$here/src/main/java/Cluster.java" -nt "$jar" ]; then
	(cd "$here" && mvn -q -B package >&2) # the next lines go to who asked
	touch "$jar"
fi
mkdir -p "$1"
# Compiled lightly it starts sooner; JAVA_FLAGS=-XX:+UseSerialGC is for what is measured.
exec java -Xmx512m ${JAVA_FLAGS:--XX:+UseSerialGC -XX:TieredStopAtLevel=1} -Dorg.slf4j.simpleLogger.defaultLogLevel=error \
	-Djava.net.preferIPv4Stack=true -Dtest.build.data="$1" -cp "$jar:$here/target/lib/*" Cluster "$1" "${2:-3}" "${3:-1}" "${4:-}" 2>"$1/log"
