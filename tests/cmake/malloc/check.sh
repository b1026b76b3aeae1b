"$build/follow"
