#!/bin/bash
# The first minute of a new user: a minimal Debian with git and make, and a clone of this very commit. An ordinary user
# without sudo is told in one sentence what to install. Root gets make demo, make test and the README's first program.
# With a ROW, that row of the matrix runs there instead, with the packages that tools/setup.sh installs for it.
#
# This fails if a test fails, and if one is left out because a package is missing from tools/setup.sh.
# Usage: tools/fresh.sh [ROW]
# promise: README.md "make demo ... before they use sudo", "$ make dist ... old handle gives NULL"
set -euo pipefail
. tests/help/script.sh
[[ -z $(git status --porcelain) ]] || echo "kolk: this tests the last commit, not what is changed since"

# A namespace of its own, so that nothing stays mounted.
[[ ${KOLK_FRESH:-} ]] || KOLK_FRESH=yes exec unshare --mount --pid --fork --kill-child "$0" "$@"
root=$(mktemp -d -p "${TMPDIR:-/var/tmp}" kolk-fresh.XXXXXX)
archives=${XDG_CACHE_HOME:-$HOME/.cache}/kolk/archives # packages that other runs have downloaded
mkdir -p "$archives"
find "$archives" -mtime +30 -delete
finish() {
  cp -n "$root"/var/cache/apt/archives/*.deb "$archives" 2> /dev/null || true
  umount -R "$root"/{proc,sys,dev} 2> /dev/null || true
  rm -rf --one-file-system "$root"
}
trap finish EXIT
tools/root.sh "$root" git,make
cp "$archives"/*.deb "$root/var/cache/apt/archives" 2> /dev/null || true
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/sys"
mount --make-rslave "$root/dev"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
certificates=${NODE_EXTRA_CA_CERTS:+/etc/certificates} # what this machine needs to reach where npm takes its packages
[[ -z $certificates ]] || cp -L "$NODE_EXTRA_CA_CERTS" "$root$certificates"
git clone -q . "$root/root/kolk" 2> /dev/null
git -C "$root/root/kolk" checkout -q --detach "$(git rev-parse HEAD)"

# as USER COMMAND...: in the clone, with the environment of a login
as() {
  local user=$1 home
  home=$(sed -n "s/^$user:.*:\(.*\):.*/\1/p" "$root/etc/passwd")
  chroot --userspec="$user:" "$root" env -i HOME="$home" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    KOLK_TEST_EFFORT="${KOLK_TEST_EFFORT:-}" KOLK_FRESH=yes ${http_proxy:+"http_proxy=$http_proxy"} \
    ${certificates:+"NODE_EXTRA_CA_CERTS=$certificates"} \
    sh -c 'cd "$HOME/kolk" && "$@"' sh "${@:2}"
}

if [[ ${1:-} ]]; then
  as root tools/setup.sh "$1"
  result=0
  as root tools/matrix.sh "$1" > /dev/null || result=$?
  cat "$root/root/kolk/build/matrix/$1.log"
  ! grep -F '***Skipped' "$root/root/kolk/build/matrix/$1.log" || fail "What these need is missing from tools/setup.sh."
  exit $result
fi

# Nothing is installed yet.
unset KOLK_TEST_EFFORT
chroot "$root" useradd --create-home somebody
cp -R "$root/root/kolk" "$root/home/somebody/kolk"
chroot "$root" chown -R somebody: /home/somebody/kolk
for target in demo test; do
  ! as somebody make $target > "$root/said" 2>&1 || fail "make $target needs nothing?"
  grep -v '^make: \*\*\*' "$root/said" > "$root/sentence" || true
  [[ $(wc -l < "$root/sentence") == 1 ]] && grep -q '^kolk: please install these by hand, as there is no sudo here: ' "$root/sentence" ||
    fail "An ordinary user is told: $(cat "$root/said")"
  cat "$root/sentence"
done

begin=$SECONDS
as root make demo
echo "make demo: $((SECONDS - begin)) s"
begin=$SECONDS
as root make test | tee "$root/said"
echo "make test: $((SECONDS - begin)) s"
# What the machine itself does not permit is no fault.
! grep -E 'left out|\*\*\*Skipped' "$root/said" | grep -vE 'left out: (this machine|this user|the system) ' ||
  fail "The packages that these need are missing from tools/setup.sh."

# The lines of the README below its first program, and what they print.
sed -n '/^```$/,$p' README.md | sed -n '3,/^```$/p' | sed '$d' > "$root/printed"
sed -n 's/^\$ //p' "$root/printed" > "$root/root/lines"
grep -v '^\$ ' "$root/printed" > "$root/expected"
(($(wc -l < "$root/root/lines") >= 4)) || fail "The README's lines are not where they were."
as root sh -e ../lines > "$root/said" 2>&1 || fail "The README's first program: $(cat "$root/said")"
diff "$root/expected" "$root/said" || fail "The README's first program prints something else."
