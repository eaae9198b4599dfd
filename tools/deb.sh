#!/bin/bash
# Builds Debian's packages from the source archive that make dist writes, with packaging/debian as its folder debian. The
# version and the date are those of VERSION and CHANGELOG.md (until a release has a date: the archive's, which is
# constant), and the licence is LICENSE, so that each is written once. The same sources give the same packages on the
# same system. DEB_BUILD_OPTIONS are Debian's, such as noopt.
# Usage: tools/deb.sh FOLDER
set -euo pipefail
mkdir -p "$1"
folder=$(realpath "$1")
version=$(cat VERSION)
date=$(sed -n "s/^## $version (\([0-9-]*\))$/\1/p" CHANGELOG.md)

tools/dist.py all "$folder/dist"
cp "$folder/dist/kolk-$version.tar.gz" "$folder/kolk_$version.orig.tar.gz"
rm -rf "$folder/kolk-$version"
tar -xzf "$folder/kolk_$version.orig.tar.gz" -C "$folder"
cd "$folder/kolk-$version"
cp -R packaging/debian debian
{ cat .reuse/dep5 && echo && echo "License: Zlib" && sed "s/^\$/./; s/^/ /" LICENSE; } > debian/copyright
cat > debian/changelog << END
kolk ($version-1) unstable; urgency=medium

  * kolk $version. The change log beside this one says what is new.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(LC_ALL=C date -u -R -d "${date:-1980-01-01}")
END
DEB_BUILD_OPTIONS="nocheck parallel=$(nproc) ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage --build=binary --no-sign
