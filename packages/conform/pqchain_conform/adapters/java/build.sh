#!/bin/sh -e
# Run in a copy of this folder. Maven has no lock file, so SHA256SUMS has the archive's checksum.
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib
sha256sum --check --quiet SHA256SUMS
javac -cp 'lib/*' -d classes Conform.java
