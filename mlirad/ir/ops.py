"""The names of upstream ops, by dialect: `Arith.ADDF` is `arith.addf`. `build` makes ops."""


class Affine:
    """Ops of `affine`."""

    APPLY, FOR = "affine.apply", "affine.for"


class Arith:
    """Ops of `arith`."""

    ADDF, ADDI, ANDI, BITCAST = "arith.addf", "arith.addi", "arith.andi", "arith.bitcast"
    CEILDIVSI, CEILDIVUI, CMPF = "arith.ceildivsi", "arith.ceildivui", "arith.cmpf"
    CMPI = "arith.cmpi"
    CONSTANT, DIVF, DIVSI, DIVUI = "arith.constant", "arith.divf", "arith.divsi", "arith.divui"
    EXTF, EXTSI, EXTUI, FLOORDIVSI = "arith.extf", "arith.extsi", "arith.extui", "arith.floordivsi"
    FPTOSI, FPTOUI, INDEX_CAST = "arith.fptosi", "arith.fptoui", "arith.index_cast"
    INDEX_CASTUI, MAXIMUMF, MAXNUMF = "arith.index_castui", "arith.maximumf", "arith.maxnumf"
    MAXSI, MAXUI, MINIMUMF = "arith.maxsi", "arith.maxui", "arith.minimumf"
    MINNUMF, MINSI, MINUI, MULF = "arith.minnumf", "arith.minsi", "arith.minui", "arith.mulf"
    MULI, MULSI_EXTENDED = "arith.muli", "arith.mulsi_extended"
    MULUI_EXTENDED, NEGF, ORI = "arith.mului_extended", "arith.negf", "arith.ori"
    REMF, REMSI, REMUI, SELECT = "arith.remf", "arith.remsi", "arith.remui", "arith.select"
    SHLI, SHRSI, SHRUI, SITOFP = "arith.shli", "arith.shrsi", "arith.shrui", "arith.sitofp"
    SUBF, SUBI, TRUNCF, TRUNCI = "arith.subf", "arith.subi", "arith.truncf", "arith.trunci"
    UITOFP, XORI = "arith.uitofp", "arith.xori"


class Bufferization:
    """Ops of `bufferization`."""

    NAME, ALLOC_TENSOR = "bufferization", "bufferization.alloc_tensor"
    MATERIALIZE_IN_DESTINATION = "bufferization.materialize_in_destination"
    TO_BUFFER, TO_TENSOR = "bufferization.to_buffer", "bufferization.to_tensor"


class Builtin:
    """Ops of `builtin`."""

    MODULE, UNREALIZED_CONVERSION_CAST = "builtin.module", "builtin.unrealized_conversion_cast"


class Cf:
    """Ops of `cf`."""

    ASSERT = "cf.assert"


class Complex:
    """Ops of `complex`."""

    ABS, ADD, ANGLE, CONJ = "complex.abs", "complex.add", "complex.angle", "complex.conj"
    CONSTANT, COS, CREATE, DIV = "complex.constant", "complex.cos", "complex.create", "complex.div"
    EQ, EXP, EXPM1, IM = "complex.eq", "complex.exp", "complex.expm1", "complex.im"
    LOG, LOG1P, MUL, NEG = "complex.log", "complex.log1p", "complex.mul", "complex.neg"
    NEQ, POW, POWI, RE = "complex.neq", "complex.pow", "complex.powi", "complex.re"
    RSQRT, SIGN, SIN, SQRT = "complex.rsqrt", "complex.sign", "complex.sin", "complex.sqrt"
    SUB, TAN, TANH = "complex.sub", "complex.tan", "complex.tanh"


class Func:
    """Ops of `func`."""

    CALL, CALL_INDIRECT, CONSTANT = "func.call", "func.call_indirect", "func.constant"
    FUNC, RETURN = "func.func", "func.return"


class Gpu:
    """Ops of `gpu`."""

    ALLOC, ALL_REDUCE, BARRIER = "gpu.alloc", "gpu.all_reduce", "gpu.barrier"
    BLOCK_DIM, BLOCK_ID, DEALLOC, FUNC = "gpu.block_dim", "gpu.block_id", "gpu.dealloc", "gpu.func"
    GRID_DIM, LANE_ID, LAUNCH = "gpu.grid_dim", "gpu.lane_id", "gpu.launch"
    LAUNCH_FUNC = "gpu.launch_func"
    MEMCPY, MODULE, PRINTF, SHUFFLE = "gpu.memcpy", "gpu.module", "gpu.printf", "gpu.shuffle"
    TERMINATOR, THREAD_ID = "gpu.terminator", "gpu.thread_id"


class Irdl:
    """Ops of `irdl`."""

    DIALECT, OPERATION = "irdl.dialect", "irdl.operation"


class Linalg:
    """Ops of `linalg`."""

    GENERIC, INDEX, PACK = "linalg.generic", "linalg.index", "linalg.pack"
    SOFTMAX, UNPACK, YIELD = "linalg.softmax", "linalg.unpack", "linalg.yield"


class Llvm:
    """Ops of `llvm`."""

    ADD, ADDRSPACECAST, ALLOCA = "llvm.add", "llvm.addrspacecast", "llvm.alloca"
    AND, LSHR, SHL = "llvm.and", "llvm.lshr", "llvm.shl"
    ATOMICRMW, BITCAST, BR, CALL = "llvm.atomicrmw", "llvm.bitcast", "llvm.br", "llvm.call"
    CALL_INTRINSIC, CMPXCHG, COND_BR = "llvm.call_intrinsic", "llvm.cmpxchg", "llvm.cond_br"
    EXTRACTELEMENT, EXTRACTVALUE, FENCE = "llvm.extractelement", "llvm.extractvalue", "llvm.fence"
    FPEXT, FPTOSI, FPTOUI, FPTRUNC = "llvm.fpext", "llvm.fptosi", "llvm.fptoui", "llvm.fptrunc"
    FUNC, GETELEMENTPTR, ICMP = "llvm.func", "llvm.getelementptr", "llvm.icmp"
    INLINE_ASM, INSERTELEMENT = "llvm.inline_asm", "llvm.insertelement"
    INSERTVALUE, INTR_ASSUME = "llvm.insertvalue", "llvm.intr.assume"
    INTR_LIFETIME_END, INTR_LIFETIME_START = "llvm.intr.lifetime.end", "llvm.intr.lifetime.start"
    INTR_MASKED_GATHER, INTR_MASKED_LOAD = "llvm.intr.masked.gather", "llvm.intr.masked.load"
    INTR_MASKED_SCATTER, INTR_MASKED_STORE = "llvm.intr.masked.scatter", "llvm.intr.masked.store"
    INTR_MEMCPY, INTR_MEMMOVE = "llvm.intr.memcpy", "llvm.intr.memmove"
    INTR_MEMSET, INTR_POW, INTTOPTR = "llvm.intr.memset", "llvm.intr.pow", "llvm.inttoptr"
    INTR_PREFETCH = "llvm.intr.prefetch"
    LOAD, MLIR_ADDRESSOF, MLIR_CONSTANT = "llvm.load", "llvm.mlir.addressof", "llvm.mlir.constant"
    MLIR_POISON, MLIR_UNDEF, MLIR_ZERO = "llvm.mlir.poison", "llvm.mlir.undef", "llvm.mlir.zero"
    MUL, OR, PTRTOINT, RETURN = "llvm.mul", "llvm.or", "llvm.ptrtoint", "llvm.return"
    SELECT, SEXT, SHUFFLEVECTOR = "llvm.select", "llvm.sext", "llvm.shufflevector"
    SITOFP, STORE, SUB, TRUNC = "llvm.sitofp", "llvm.store", "llvm.sub", "llvm.trunc"
    UITOFP, ZEXT = "llvm.uitofp", "llvm.zext"


class Math:
    """Ops of `math`."""

    ABSF, ABSI, COPYSIGN, CTLZ = "math.absf", "math.absi", "math.copysign", "math.ctlz"
    CTPOP, EXP, EXPM1, FLOOR = "math.ctpop", "math.exp", "math.expm1", "math.floor"
    FMA, IPOWI, ISFINITE, ISINF = "math.fma", "math.ipowi", "math.isfinite", "math.isinf"
    ISNAN, ISNORMAL, POWF, RSQRT = "math.isnan", "math.isnormal", "math.powf", "math.rsqrt"
    EXP2, LOG, LOG2, LOG10 = "math.exp2", "math.log", "math.log2", "math.log10"
    COS, FPOWI, SIN, SINCOS = "math.cos", "math.fpowi", "math.sin", "math.sincos"
    LOG1P, SQRT, TANH = "math.log1p", "math.sqrt", "math.tanh"


class Memref:
    """Ops of `memref`."""

    ASSUME_ALIGNMENT, PREFETCH = "memref.assume_alignment", "memref.prefetch"
    RESHAPE = "memref.reshape"
    ALLOC, ALLOCA, ATOMIC_RMW = "memref.alloc", "memref.alloca", "memref.atomic_rmw"
    ATOMIC_YIELD, CAST = "memref.atomic_yield", "memref.cast"
    COLLAPSE_SHAPE, COPY, DEALLOC = "memref.collapse_shape", "memref.copy", "memref.dealloc"
    DIM, EXPAND_SHAPE = "memref.dim", "memref.expand_shape"
    EXTRACT_ALIGNED_POINTER_AS_INDEX = "memref.extract_aligned_pointer_as_index"
    EXTRACT_STRIDED_METADATA = "memref.extract_strided_metadata"
    GENERIC_ATOMIC_RMW, GET_GLOBAL = "memref.generic_atomic_rmw", "memref.get_global"
    GLOBAL = "memref.global"
    LOAD, MEMORY_SPACE_CAST = "memref.load", "memref.memory_space_cast"
    REALLOC = "memref.realloc"
    REINTERPRET_CAST, STORE, SUBVIEW = "memref.reinterpret_cast", "memref.store", "memref.subview"
    TRANSPOSE, VIEW = "memref.transpose", "memref.view"


class Scf:
    """Ops of `scf`."""

    CONDITION, FOR, IF, PARALLEL = "scf.condition", "scf.for", "scf.if", "scf.parallel"
    INDEX_SWITCH = "scf.index_switch"
    REDUCE, REDUCE_RETURN, WHILE = "scf.reduce", "scf.reduce.return", "scf.while"
    YIELD = "scf.yield"


class Tensor:
    """Ops of `tensor`."""

    CAST, COLLAPSE_SHAPE, CONCAT = "tensor.cast", "tensor.collapse_shape", "tensor.concat"
    DIM, EMPTY, EXPAND_SHAPE = "tensor.dim", "tensor.empty", "tensor.expand_shape"
    EXTRACT, EXTRACT_SLICE = "tensor.extract", "tensor.extract_slice"
    FROM_ELEMENTS, GATHER = "tensor.from_elements", "tensor.gather"
    GENERATE, INSERT, INSERT_SLICE = "tensor.generate", "tensor.insert", "tensor.insert_slice"
    PAD, RESHAPE, SCATTER = "tensor.pad", "tensor.reshape", "tensor.scatter"
    SPLAT, YIELD = "tensor.splat", "tensor.yield"


class Ub:
    """Ops of `ub`."""

    POISON = "ub.poison"


class Vector:
    """Ops of `vector`."""

    BITCAST, BROADCAST, COMPRESSSTORE = "vector.bitcast", "vector.broadcast", "vector.compressstore"
    CONSTANT_MASK, CONTRACT = "vector.constant_mask", "vector.contract"
    CREATE_MASK, DEINTERLEAVE = "vector.create_mask", "vector.deinterleave"
    EXPANDLOAD, EXTRACT = "vector.expandload", "vector.extract"
    EXTRACT_STRIDED_SLICE, FMA = "vector.extract_strided_slice", "vector.fma"
    FROM_ELEMENTS, GATHER, INSERT = "vector.from_elements", "vector.gather", "vector.insert"
    INSERT_STRIDED_SLICE, INTERLEAVE = "vector.insert_strided_slice", "vector.interleave"
    LOAD, MASK, MASKEDLOAD = "vector.load", "vector.mask", "vector.maskedload"
    MASKEDSTORE, MULTI_REDUCTION = "vector.maskedstore", "vector.multi_reduction"
    OUTERPRODUCT, REDUCTION, SCAN = "vector.outerproduct", "vector.reduction", "vector.scan"
    SCATTER, SHAPE_CAST, SHUFFLE = "vector.scatter", "vector.shape_cast", "vector.shuffle"
    STEP, STORE = "vector.step", "vector.store"
    TO_ELEMENTS, TRANSFER_READ = "vector.to_elements", "vector.transfer_read"
    TRANSFER_WRITE, TRANSPOSE = "vector.transfer_write", "vector.transpose"


SIGNED_DIVISIONS = (Arith.DIVSI, Arith.REMSI, Arith.FLOORDIVSI, Arith.CEILDIVSI)
INTEGER_DIVISIONS = (*SIGNED_DIVISIONS, Arith.DIVUI, Arith.REMUI, Arith.CEILDIVUI)
