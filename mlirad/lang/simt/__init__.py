"""`ti.simt`: functions of the threads of a GPU. The iterations of a parallel loop are threads; a
block has `block_dim` of them, a subgroup or warp 32 consecutive ones of a block."""
