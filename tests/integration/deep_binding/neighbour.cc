// Found by the RUNPATH of its neighbour only.
extern "C" int NeighbourIsHere() { return 42; }
