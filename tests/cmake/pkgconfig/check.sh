# A prefix that was moved is found, too: the .pc files know it from their own place.
cp -r "$prefix" "$scratch/moved"
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/moved" -name allomon.pc)")
export PKG_CONFIG_PATH
plain() {
  quietly g++ -std=c++17 -O2 "$here/$1" $(pkg-config --cflags --libs "$2") -o "$scratch/$3"
}
plain consumer/follow.cc allomon follow
"$scratch/follow"
plain runtime/managed.cc allomon-runtime managed
"$scratch/managed"
plain consumer/follow.cc allomon-profile profiled
"$scratch/profiled"
[[ $(pkg-config --cflags allomon) == *"$scratch/moved"* ]] || fail "the prefix is written down"

# Whoever has no malloc of ours in the program is told what to link.
quietly g++ -std=c++17 -O2 "$here/consumer/follow.cc" $(pkg-config --cflags allomon) \
  -L"$scratch/moved/$(basename "$(dirname "$PKG_CONFIG_PATH")")" \
  $(pkg-config --libs-only-L allomon) -lallomon_tracker -lallomon_core \
  $(pkg-config --libs absl_statusor) -o "$scratch/without"
if "$scratch/without" 2>"$scratch/message"; then fail "a program without malloc starts trackers"; fi
for remedy in '@allomon//allocator:malloc' 'Allomon::malloc' 'pkg-config --libs allomon'; do
  grep -qF "$remedy" "$scratch/message" || fail "no word of $remedy: $(cat "$scratch/message")"
done
