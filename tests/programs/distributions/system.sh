# shellcheck shell=bash disable=SC2154,SC2034,SC2016
# Minimal systems in chroots; read by ../distributions.sh, whose variables it uses.  `root` is the
# chroot that is entered.

# Prints the first mirror of Debian proper among the machine's apt sources.
machines_mirror() {
  apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(SITE)' 2>/dev/null |
    sed -n 's/^Debian|Debian|//p' | head -n 1
}

# Makes or reuses the system of a distribution, and mounts what programs need.
enter_system() { # distribution
  distribution=$1
  root=$keep/$1
  archives=$keep/$1-packages bare=$keep/$1.tar
  mkdir -p "$archives"
  [[ $fresh == no ]] || rm -rf --one-file-system "$root"
  mkdir -p "$root"
  [[ -x $root/bin/bash ]] || logged "$1: the bare system" "$scratch/system.log" bare_system ||
    { show_end "$scratch/system.log"; return 1; }
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  apt-config dump | grep -i '^Acquire::[a-z]*::Proxy ' >"$root/etc/apt/apt.conf.d/90proxy" || true
  share_packages "$archives" "$root/var/cache/apt/archives"
  mkdir -p "$root"/{proc,dev,sys}
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount --bind --make-private /dev "$root/dev" # else the next two are mounted in /dev itself, too
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
}

# Gives one folder the packages of another, which takes no room within a file system.
share_packages() { # from, to
  cp -nl "$1"/*.deb "$2/" 2>/dev/null || cp -n "$1"/*.deb "$2/" 2>/dev/null || true
}

bare_system() {
  if [[ ! -f $bare ]]; then
    debootstrap --variant=minbase "$distribution" "$root" "$mirror" || return 1
    tar -C "$root" -cpf "$bare.new" . && mv "$bare.new" "$bare"
    return
  fi
  tar -C "$root" -xpf "$bare"
}

# Unmounts it, and keeps the packages that were downloaded.
leave_system() {
  [[ $root ]] || return 0
  share_packages "$root/var/cache/apt/archives" "$archives"
  local place
  for place in sys dev/shm dev/pts dev proc; do
    ! mountpoint -q "$root/$place" || umount "$root/$place" 2>/dev/null || umount -l "$root/$place"
  done
  root=''
}

# Runs a shell's command as $user, with next to nothing in the environment.
inside() {
  local home=/root
  [[ $user == root ]] || home=/home/$user
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$home" LANG=C.UTF-8 \
    nice -n "$niceness" setpriv --reuid "$user" --regid "$user" --init-groups bash -c "$1" \
    </dev/null
}

# Clones HEAD for a user: what nobody committed cannot help.
clone_for() { # user
  user=$1
  [[ $user == root ]] || chroot "$root" id "$user" >/dev/null 2>&1 ||
    chroot "$root" useradd --create-home "$user"
  clone=/srv/$user+1/allomon
  rm -rf --one-file-system "${root:?}${clone%/*}"
  git -c safe.directory='*' clone --quiet --no-hardlinks "$source_dir" "$root$clone"
  if [[ $mimalloc ]]; then
    mkdir -p "$root$clone/.deps"
    cp -rL "$mimalloc" "$root$clone/.deps/mimalloc"
    "$source_dir/tools/setup/mend_mimalloc.sh" "$root$clone/.deps/mimalloc"
  fi
  chroot "$root" chown -R "$user:" "${clone%/*}"
  inside 'echo "build --disk_cache=$HOME/bazel-disk-cache" >~/.bazelrc'
}
