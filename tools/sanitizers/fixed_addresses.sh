#!/bin/sh
# Runs a test without address randomisation where that is permitted.  On kernels that
# randomise 32 bits (sysctl vm.mmap_rnd_bits), g++ 12's address and thread sanitizers find
# their shadow memory taken, now and then, and die before main.
setarch -R true 2>/dev/null && exec setarch -R "$@"
exec "$@"
