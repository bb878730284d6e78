"""The names of upstream ops, by dialect: `Arith.ADDF` is `arith.addf`. `build` makes ops."""


class Affine:
    """Ops of `affine`."""

    APPLY = "affine.apply"


class Arith:
    """Ops of `arith`."""

    ADDF = "arith.addf"
    ADDI = "arith.addi"
    ANDI = "arith.andi"
    BITCAST = "arith.bitcast"
    CEILDIVSI = "arith.ceildivsi"
    CMPF = "arith.cmpf"
    CMPI = "arith.cmpi"
    CONSTANT = "arith.constant"
    DIVF = "arith.divf"
    DIVSI = "arith.divsi"
    DIVUI = "arith.divui"
    EXTF = "arith.extf"
    EXTSI = "arith.extsi"
    EXTUI = "arith.extui"
    FLOORDIVSI = "arith.floordivsi"
    FPTOSI = "arith.fptosi"
    FPTOUI = "arith.fptoui"
    INDEX_CAST = "arith.index_cast"
    INDEX_CASTUI = "arith.index_castui"
    MAXIMUMF = "arith.maximumf"
    MAXNUMF = "arith.maxnumf"
    MAXSI = "arith.maxsi"
    MAXUI = "arith.maxui"
    MINIMUMF = "arith.minimumf"
    MINNUMF = "arith.minnumf"
    MINSI = "arith.minsi"
    MINUI = "arith.minui"
    MULF = "arith.mulf"
    MULI = "arith.muli"
    MULSI_EXTENDED = "arith.mulsi_extended"
    MULUI_EXTENDED = "arith.mului_extended"
    NEGF = "arith.negf"
    ORI = "arith.ori"
    REMF = "arith.remf"
    REMSI = "arith.remsi"
    REMUI = "arith.remui"
    SELECT = "arith.select"
    SHLI = "arith.shli"
    SHRSI = "arith.shrsi"
    SHRUI = "arith.shrui"
    SITOFP = "arith.sitofp"
    SUBF = "arith.subf"
    SUBI = "arith.subi"
    TRUNCF = "arith.truncf"
    TRUNCI = "arith.trunci"
    UITOFP = "arith.uitofp"
    XORI = "arith.xori"


class Builtin:
    """Ops of `builtin`."""

    MODULE = "builtin.module"
    UNREALIZED_CONVERSION_CAST = "builtin.unrealized_conversion_cast"


class Cf:
    """Ops of `cf`."""

    ASSERT = "cf.assert"


class Func:
    """Ops of `func`."""

    CALL = "func.call"
    CONSTANT = "func.constant"
    FUNC = "func.func"
    RETURN = "func.return"


class Gpu:
    """Ops of `gpu`."""

    ALL_REDUCE = "gpu.all_reduce"
    ALLOC = "gpu.alloc"
    BARRIER = "gpu.barrier"
    BLOCK_DIM = "gpu.block_dim"
    BLOCK_ID = "gpu.block_id"
    DEALLOC = "gpu.dealloc"
    FUNC = "gpu.func"
    GRID_DIM = "gpu.grid_dim"
    LAUNCH = "gpu.launch"
    LAUNCH_FUNC = "gpu.launch_func"
    MEMCPY = "gpu.memcpy"
    MODULE = "gpu.module"
    PRINTF = "gpu.printf"
    SHUFFLE = "gpu.shuffle"
    TERMINATOR = "gpu.terminator"
    THREAD_ID = "gpu.thread_id"


class Llvm:
    """Ops of `llvm`."""

    ADD = "llvm.add"
    ADDRSPACECAST = "llvm.addrspacecast"
    ALLOCA = "llvm.alloca"
    ATOMICRMW = "llvm.atomicrmw"
    BITCAST = "llvm.bitcast"
    BR = "llvm.br"
    CALL = "llvm.call"
    CALL_INTRINSIC = "llvm.call_intrinsic"
    CMPXCHG = "llvm.cmpxchg"
    COND_BR = "llvm.cond_br"
    EXTRACTELEMENT = "llvm.extractelement"
    EXTRACTVALUE = "llvm.extractvalue"
    FENCE = "llvm.fence"
    FPEXT = "llvm.fpext"
    FPTOSI = "llvm.fptosi"
    FPTOUI = "llvm.fptoui"
    FPTRUNC = "llvm.fptrunc"
    FUNC = "llvm.func"
    GETELEMENTPTR = "llvm.getelementptr"
    ICMP = "llvm.icmp"
    INLINE_ASM = "llvm.inline_asm"
    INSERTELEMENT = "llvm.insertelement"
    INSERTVALUE = "llvm.insertvalue"
    INTR_ASSUME = "llvm.intr.assume"
    INTR_LIFETIME_END = "llvm.intr.lifetime.end"
    INTR_LIFETIME_START = "llvm.intr.lifetime.start"
    INTR_MASKED_GATHER = "llvm.intr.masked.gather"
    INTR_MASKED_LOAD = "llvm.intr.masked.load"
    INTR_MASKED_SCATTER = "llvm.intr.masked.scatter"
    INTR_MASKED_STORE = "llvm.intr.masked.store"
    INTR_MEMCPY = "llvm.intr.memcpy"
    INTR_MEMMOVE = "llvm.intr.memmove"
    INTR_MEMSET = "llvm.intr.memset"
    INTR_POW = "llvm.intr.pow"
    INTTOPTR = "llvm.inttoptr"
    LOAD = "llvm.load"
    MLIR_ADDRESSOF = "llvm.mlir.addressof"
    MLIR_CONSTANT = "llvm.mlir.constant"
    MLIR_POISON = "llvm.mlir.poison"
    MLIR_UNDEF = "llvm.mlir.undef"
    MLIR_ZERO = "llvm.mlir.zero"
    MUL = "llvm.mul"
    OR = "llvm.or"
    PTRTOINT = "llvm.ptrtoint"
    RETURN = "llvm.return"
    SELECT = "llvm.select"
    SEXT = "llvm.sext"
    SHUFFLEVECTOR = "llvm.shufflevector"
    SITOFP = "llvm.sitofp"
    STORE = "llvm.store"
    SUB = "llvm.sub"
    TRUNC = "llvm.trunc"
    UITOFP = "llvm.uitofp"
    ZEXT = "llvm.zext"


class Math:
    """Ops of `math`."""

    ABSF = "math.absf"
    ABSI = "math.absi"
    COPYSIGN = "math.copysign"
    CTLZ = "math.ctlz"
    CTPOP = "math.ctpop"
    EXP = "math.exp"
    EXPM1 = "math.expm1"
    FLOOR = "math.floor"
    FMA = "math.fma"
    IPOWI = "math.ipowi"
    ISFINITE = "math.isfinite"
    ISINF = "math.isinf"
    ISNAN = "math.isnan"
    ISNORMAL = "math.isnormal"
    POWF = "math.powf"
    RSQRT = "math.rsqrt"
    SQRT = "math.sqrt"
    TANH = "math.tanh"


class Memref:
    """Ops of `memref`."""

    ALLOC = "memref.alloc"
    ALLOCA = "memref.alloca"
    ATOMIC_RMW = "memref.atomic_rmw"
    ATOMIC_YIELD = "memref.atomic_yield"
    CAST = "memref.cast"
    COLLAPSE_SHAPE = "memref.collapse_shape"
    COPY = "memref.copy"
    DEALLOC = "memref.dealloc"
    DIM = "memref.dim"
    EXPAND_SHAPE = "memref.expand_shape"
    EXTRACT_ALIGNED_POINTER_AS_INDEX = "memref.extract_aligned_pointer_as_index"
    EXTRACT_STRIDED_METADATA = "memref.extract_strided_metadata"
    GENERIC_ATOMIC_RMW = "memref.generic_atomic_rmw"
    GET_GLOBAL = "memref.get_global"
    LOAD = "memref.load"
    MEMORY_SPACE_CAST = "memref.memory_space_cast"
    REINTERPRET_CAST = "memref.reinterpret_cast"
    STORE = "memref.store"
    SUBVIEW = "memref.subview"
    TRANSPOSE = "memref.transpose"
    VIEW = "memref.view"


class Scf:
    """Ops of `scf`."""

    CONDITION = "scf.condition"
    FOR = "scf.for"
    IF = "scf.if"
    PARALLEL = "scf.parallel"
    REDUCE = "scf.reduce"
    REDUCE_RETURN = "scf.reduce.return"
    WHILE = "scf.while"
    YIELD = "scf.yield"


class Tensor:
    """Ops of `tensor`."""

    DIM = "tensor.dim"


class Ub:
    """Ops of `ub`."""

    POISON = "ub.poison"


class Vector:
    """Ops of `vector`."""

    BROADCAST = "vector.broadcast"
    CREATE_MASK = "vector.create_mask"
    EXTRACT = "vector.extract"
    EXTRACT_STRIDED_SLICE = "vector.extract_strided_slice"
    FROM_ELEMENTS = "vector.from_elements"
    GATHER = "vector.gather"
    LOAD = "vector.load"
    MASKEDLOAD = "vector.maskedload"
    MASKEDSTORE = "vector.maskedstore"
    REDUCTION = "vector.reduction"
    SCATTER = "vector.scatter"
    SHAPE_CAST = "vector.shape_cast"
    SHUFFLE = "vector.shuffle"
    STORE = "vector.store"
