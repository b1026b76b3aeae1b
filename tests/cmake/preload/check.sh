library=$(find "$prefix" -name liballomon.so)
export ALLOMON_OUT=$scratch/mlmon.out
LD_PRELOAD=$library python3 -c 'print(len(list(range(100000))))'
"$prefix/bin/allomon" report --top=3 --width=80 "$ALLOMON_OUT"
# The command finds the library of its own installation.
"$prefix/bin/allomon" run -o "$scratch/recording.pb.gz" -- python3 -c 'print(len([0] * 100000))'
"$prefix/bin/allomon" report --top=3 --width=80 "$scratch/recording.pb.gz"
"$prefix/bin/allomon" --version
