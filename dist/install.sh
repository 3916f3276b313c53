#!/bin/sh
# Installs foresee from the directory that this file lies in: ./install.sh [PREFIX]. PREFIX is /usr/local for root, ~/.local for others.
# As root it also makes /sbin/mount.foresee and mount.fuse.foresee, for mount(8) and /etc/fstab. ./install.sh --remove [PREFIX] removes
# it all again.
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
if [ "$(id -u)" = 0 ]; then usual=/usr/local; else usual=${HOME:+$HOME/.local}; fi
prefix=${1:-$usual}
[ -n "$prefix" ] || fail "there is no HOME: say where, ./install.sh PREFIX"
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
case $prefix in *[[:space:]:]*) fail "$prefix: the library could not be loaded from there, for its space or colon" ;; esac

# Also where it is called by a link.
cd "$(dirname "$(readlink -f "$0")")"
for part in bin include lib share; do
    [ -d $part ] || fail "$PWD/$part is not there: unpack the whole archive, and call what lies in it"
done
# Directories that were not there before; they go with the rest if nobody else has put anything there.
made=$prefix/share/doc/foresee/directories
# Where mount(8) looks for who mounts file systems of this type, also by its name in the list of mounts.
helpers='/sbin/mount.foresee /sbin/mount.fuse.foresee'

if [ $action = remove ]; then
    directories=$(sort -r "$made" 2>/dev/null || true)
    find bin include lib share -type f | while read -r file; do rm -f "$prefix/$file"; done
    rm -f "$made"
    # Those of foresee's name are its own, whoever made them.
    own=$(find bin include lib share -type d -name 'foresee*' | sort -r | while read -r it; do echo "$prefix/$it"; done)
    for directory in $own $directories; do rmdir "$directory" 2>/dev/null || true; done
    for helper in $helpers; do
        if [ "$(readlink $helper)" = "$prefix/bin/foresee-mount" ] && [ "$(id -u)" = 0 ]; then rm -f $helper; fi
    done
    exit
fi

directories=$(find . -type d | while read -r directory; do [ -d "$prefix/$directory" ] || echo "$prefix${directory#.}"; done)
find bin include lib share -type f | while read -r file; do
    target=$prefix/$file
    mkdir -p "$(dirname "$target")"
    # A command that runs, and a library that is loaded, keep their file.
    rm -f "$target.new"
    cp "$file" "$target.new"
    mv "$target.new" "$target"
done
if [ -n "$directories" ]; then echo "$directories" >>"$made"; fi
if [ "$(id -u)" = 0 ]; then
    for helper in $helpers; do
        if [ -e $helper ] && [ "$(readlink $helper)" != "$prefix/bin/foresee-mount" ]; then
            echo "install.sh: $helper is left as it is: $(readlink -f $helper)" >&2
        elif [ -n "$(find "$prefix/bin" "$prefix/bin/foresee-mount" -prune ! -user 0)" ]; then
            echo "install.sh: $helper is not made: root would run what others can change in $prefix/bin" >&2
        else
            ln -sf "$prefix/bin/foresee-mount" $helper
        fi
    done
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
