#!/bin/sh
# Makes a folder with a minimal Debian, for chroot: the release of this machine, from where apt takes its packages, with
# PACKAGES and no others. Needs root's rights and mmdebstrap. What was downloaded is kept in ~/.cache/kolk, as
# XDG_CACHE_HOME says, so the next root with these packages takes a few seconds.
# Usage: tools/root.sh FOLDER PACKAGE[,PACKAGE...]
set -eu
folder=$1
packages=$2
[ "$(id -u)" = 0 ] || { echo "kolk: a root for chroot needs root's rights" >&2; exit 1; }
command -v mmdebstrap > /dev/null || { echo "kolk: a root for chroot needs mmdebstrap" >&2; exit 1; }
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kolk
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u)
kept=$cache/$codename-$(echo "$packages $sources" | cksum | tr ' ' -).tar
mkdir -p "$cache"
if [ ! -s "$kept" ]; then
  new=$(mktemp "$kept.XXXXXX")
  said=$(echo "$sources" | mmdebstrap --variant=minbase --include="$packages" --format=tar "$codename" "$new" - 2>&1) || {
    echo "$said" >&2
    rm -f "$new"
    exit 1
  }
  mv "$new" "$kept"
fi
mkdir -p "$folder"
tar -xf "$kept" -C "$folder" --exclude='./dev/*'
