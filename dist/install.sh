#!/bin/sh
# Installs foresee from the directory that this file lies in: ./install.sh [PREFIX]. PREFIX is /usr/local for root, ~/.local for others.
# ./install.sh --remove [PREFIX] removes it again.
set -eu
# Programs of every user load the library.
umask 022
fail() {
    echo "install.sh: $*" >&2
    exit 1
}

action=install
if [ "${1-}" = --remove ]; then
    action=remove
    shift
fi
case ${1-} in -*) fail "usage: ./install.sh [--remove] [PREFIX]" ;; esac
if [ "$(id -u)" = 0 ]; then prefix=${1:-/usr/local}; else prefix=${1:-$HOME/.local}; fi
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
case $prefix in *[[:space:]:]*) fail "$prefix: the library could not be loaded from there, for its space or colon" ;; esac

cd "$(dirname "$0")"
find bin include lib share -type f | while read -r file; do
    target=$prefix/$file
    if [ $action = install ]; then
        mkdir -p "$(dirname "$target")"
        # A command that runs, and a library that is loaded, keep their file.
        cp "$file" "$target.new"
        mv "$target.new" "$target"
    else
        rm -f "$target"
    fi
done
if [ $action = remove ]; then
    find bin include lib share -depth -type d -path '*/foresee*' | while read -r own; do rmdir "$prefix/$own"; done
    exit
fi

complaint=$(LD_PRELOAD=$prefix/lib/foresee/libforesee_preload.so true 2>&1) || true
if [ -n "$complaint" ]; then
    echo "install.sh: programs of this machine cannot load foresee's library; what they read is seen from outside alone:" >&2
    echo "$complaint" >&2
fi
case :$PATH: in
*":$prefix/bin:"*) echo "installed: foresee run -- CMD" ;;
*) echo "installed: $prefix/bin/foresee run -- CMD ($prefix/bin is not in PATH)" ;;
esac
