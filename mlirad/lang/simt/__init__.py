"""`ti.simt`: what the threads of a GPU do together. The iterations of a parallel loop are threads;
as many as its `block_dim` says are a block, 32 neighbours of a block a subgroup or warp."""
