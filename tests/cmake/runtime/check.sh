"$build/managed"
