#!/bin/sh
# Runs a test without address randomisation, where that is permitted.  On kernels that randomise 32
# bits (sysctl vm.mmap_rnd_bits), the address and thread sanitizers of g++ 12 now and then find the
# place of their shadow memory taken, and end before main.
setarch -R true 2>/dev/null && exec setarch -R "$@"
exec "$@"
