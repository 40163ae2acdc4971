#!/bin/sh
# Unpack a Python for 32-bit ARM into a folder: `sh armhf.sh FOLDER`. Debian's packages, fetched by apt
# from the configured sources; nothing is installed, and apt's state is unchanged.
set -e
folder=$(realpath -m "$1")
packages="python3 python3-numpy python3-pandas"
rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial"
: > "$folder/apt/status"
options="-o APT::Architecture=armhf -o APT::Architectures::=armhf -o APT::Install-Recommends=false
    -o Dir::State=$folder/apt -o Dir::State::status=$folder/apt/status -o Dir::Cache=$folder/apt
    -o Debug::NoLocking=1"
# An unneeded list may be unreachable; missing packages fail below.
apt-get $options -qq update || true
apt-get $options -qq --yes --download-only install $packages > "$folder/apt/log" || {
    cat "$folder/apt/log" >&2
    exit 1
}
for package in "$folder"/apt/archives/*.deb; do
    dpkg-deb --extract "$package" "$folder"
done
rm -rf "$folder/apt"
# If /lib is not a link into /usr, the loader is searched in both.
[ -e "$folder/lib" ] || ln -s usr/lib "$folder/lib"
for library in blas lapack; do
    ln -sf "$library/lib$library.so.3" "$folder/usr/lib/arm-linux-gnueabihf/lib$library.so.3"
done
touch "$folder/.unpacked"
