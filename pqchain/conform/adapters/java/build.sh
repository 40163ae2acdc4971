#!/bin/sh -e
# Run in a copy of this folder. Maven locks no checksums, so that of the archive stands in SHA256SUMS.
mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=lib
sha256sum --check --quiet SHA256SUMS
javac -cp 'lib/*' -d classes Conform.java
