"""Functions over tensors that are definitions, in MLIR; `T` stands for the type of floats."""

_AT = "{dilations = dense<DILATION> : tensor<2xi64>, strides = dense<STRIDE> : tensor<2xi64>}"


def _named(
    op: str, inputs: list[str], output: str, attributes: str = "", start: str = "0.0"
) -> str:
    """Return a function of a named operation, which begins with a number."""
    parameters = ", ".join(f"%a{k}: tensor<{t}xT>" for k, t in enumerate(inputs))
    names = ", ".join(f"%a{k}" for k in range(len(inputs)))
    types = ", ".join(f"tensor<{t}xT>" for t in inputs)
    return f"""func.func @f({parameters}) -> tensor<{output}xT> {{
  %z = arith.constant {start} : T
  %e = tensor.empty() : tensor<{output}xT>
  %i = linalg.fill ins(%z : T) outs(%e : tensor<{output}xT>) -> tensor<{output}xT>
  %r = linalg.{op} {attributes} ins({names} : {types})
    outs(%i : tensor<{output}xT>) -> tensor<{output}xT>
  return %r : tensor<{output}xT>
}}"""


def _generic(
    inputs: list[str], output: str, maps: str, kinds: str, body: str, *, reads_target: bool = False
) -> str:
    """Return a function of a generic, whose body computes `%v` of `%x0`, ... and `%o`."""
    count = len(inputs)
    parameters = [f"%a{k}: tensor<{t}xT>" for k, t in enumerate(inputs)]
    target = f"tensor<{output}xT>" if output else "tensor<T>"
    parameters += [f"%t: {target}"] * reads_target
    names = ", ".join(f"%a{k}" for k in range(count))
    types = ", ".join(f"tensor<{t}xT>" for t in inputs)
    arguments = ", ".join(f"%x{k}: T" for k in range(count))
    listed_kinds = ", ".join(f'"{"reduction" if k == "r" else "parallel"}"' for k in kinds)
    indices = ", ".join(f"d{k}" for k in range(len(kinds)))
    listed = ", ".join(f"affine_map<({indices}) -> ({map_})>" for map_ in maps.split(";"))
    start = "%t" if reads_target else "%i"
    return f"""func.func @f({", ".join(parameters)}) -> {target} {{
  %z = arith.constant 0.0 : T
  %e = tensor.empty() : {target}
  %i = linalg.fill ins(%z : T) outs(%e : {target}) -> {target}
  %r = linalg.generic {{indexing_maps = [{listed}], iterator_types = [{listed_kinds}]}}
    ins({names} : {types}) outs({start} : {target}) {{
  ^bb0({arguments}, %o: T):
{body}
    linalg.yield %v : T
  }} -> {target}
  return %r : {target}
}}"""


def _convolution(stride: int, dilation: int) -> str:
    attributes = _AT.replace("STRIDE", str(stride)).replace("DILATION", str(dilation))
    extents = [(n - dilation * 2 - 1) // stride + 1 for n in (9, 8)]
    shape = f"2x{extents[0]}x{extents[1]}x2"
    return _named("conv_2d_nhwc_hwcf", ["2x9x8x3", "3x3x3x2"], shape, attributes)


_PRODUCT = "    %p = arith.mulf %x0, %x1 : T\n    %v = arith.addf %o, %p : T"
_POOL = _AT.replace("STRIDE", "2").replace("DILATION", "1")

PROGRAMS = {
    "matmul": _named("matmul", ["5x4", "4x3"], "5x3"),
    "batch_matmul": _named("batch_matmul", ["2x5x4", "2x4x3"], "2x5x3"),
    "matvec": _named("matvec", ["5x4", "4"], "5"),
    "dot": _named("dot", ["6", "6"], "").replace("tensor<xT>", "tensor<T>"),
    "convolution": _convolution(1, 1),
    "convolution with strides": _convolution(2, 1),
    "convolution with dilations": _convolution(1, 2),
    "depthwise convolution": _named(
        "depthwise_conv_2d_nhwc_hwc",
        ["2x7x6x3", "3x2x3"],
        "2x3x3x3",
        _POOL,
    ),
    "pooled sums": _named("pooling_nhwc_sum", ["2x6x7x3", "2x2"], "2x3x3x3", _POOL),
    "pooled maxima": _named(
        "pooling_nchw_max", ["2x3x6x7", "2x2"], "2x3x3x3", _POOL, start="-100.0"
    ),
    "indices that are sums": _generic(["11", "4"], "5", "d0 + d1 * 2;d1;d0", "pr", _PRODUCT),
    "a diagonal": _generic(["5x5"], "5", "d0, d0;d0", "p", "    %v = math.sin %x0 : T"),
    "a trace": _generic(
        ["5x5"],
        "",
        "d0, d0;",
        "r",
        "    %p = arith.mulf %x0, %x0 : T\n    %v = arith.addf %p, %o : T",
    ),
    "sums of several values": _generic(
        ["4x5", "5"],
        "4",
        "d0, d1;d1;d0",
        "pr",
        "    %q = math.fma %x0, %x1, %o : T\n    %w = arith.subf %q, %x0 : T\n"
        "    %v = arith.addf %x1, %w : T",
    ),
    "a product of what there was": _generic(
        ["4x3"],
        "4",
        "d0, d1;d0",
        "pr",
        "    %c = math.cos %x0 : T\n    %v = arith.mulf %c, %o : T",
        reads_target=True,
    ),
    "a minimum of what there was": _generic(
        ["4x3"],
        "3",
        "d0, d1;d1",
        "rp",
        "    %v = arith.minimumf %x0, %o : T",
        reads_target=True,
    ),
    "what there was, by elements": _generic(
        ["4x3"],
        "3x4",
        "d1, d0;d0, d1",
        "pp",
        "    %i0 = linalg.index 0 : index\n    %k = arith.index_cast %i0 : index to i64\n"
        "    %s = arith.sitofp %k : i64 to T\n    %w = arith.mulf %o, %x0 : T\n"
        "    %v = arith.addf %w, %s : T",
        reads_target=True,
    ),
    "elements by an index that is computed": _generic(
        ["4", "3"],
        "4",
        "d0;;d0",
        "p",
        "    %i0 = linalg.index 0 : index\n    %c3 = arith.constant 3 : index\n"
        "    %k = arith.remui %i0, %c3 : index\n    %y = tensor.extract %a1[%k] : tensor<3xT>\n"
        "    %v = arith.mulf %y, %x0 : T",
    )
    .replace("ins(%a0, %a1 : tensor<4xT>, tensor<3xT>)", "ins(%a0 : tensor<4xT>)")
    .replace("affine_map<(d0) -> ()>, ", "")
    .replace("%x0: T, %x1: T", "%x0: T"),
    "shapes": """func.func @f(%a: tensor<4x6xT>) -> (tensor<2x2x6xT>, tensor<24xT>, tensor<8x3xT>) {
  %s = math.sin %a : tensor<4x6xT>
  %x = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 2, 6]
    : tensor<4x6xT> into tensor<2x2x6xT>
  %c = tensor.collapse_shape %s [[0, 1]] : tensor<4x6xT> into tensor<24xT>
  %shape = arith.constant dense<[8, 3]> : tensor<2xi64>
  %r = tensor.reshape %s(%shape) : (tensor<4x6xT>, tensor<2xi64>) -> tensor<8x3xT>
  return %x, %c, %r : tensor<2x2x6xT>, tensor<24xT>, tensor<8x3xT>
}""",
    "slices": """func.func @f(%a: tensor<6x7xT>, %b: tensor<3xT>) -> (tensor<3xT>, tensor<6x7xT>) {
  %s = tensor.extract_slice %a[1, 2] [3, 1] [2, 1] : tensor<6x7xT> to tensor<3xT>
  %t = arith.mulf %s, %b : tensor<3xT>
  %r = tensor.insert_slice %t into %a[4, 0] [1, 3] [1, 3] : tensor<3xT> into tensor<6x7xT>
  %u = math.sin %r : tensor<6x7xT>
  return %t, %u : tensor<3xT>, tensor<6x7xT>
}""",
    "what is around": """func.func @f(%a: tensor<3x2xT>, %b: T) -> tensor<6x3xT> {
  %p = tensor.pad %a low[1, 0] high[2, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %b : T
  } : tensor<3x2xT> to tensor<6x3xT>
  %r = math.exp %p : tensor<6x3xT>
  return %r : tensor<6x3xT>
}""",
    "one behind the other": """func.func @f(%a: tensor<3x2xT>, %b: tensor<3x4xT>) -> tensor<3x8xT> {
  %p = tensor.concat dim(1) %a, %b, %a
    : (tensor<3x2xT>, tensor<3x4xT>, tensor<3x2xT>) -> tensor<3x8xT>
  %r = math.exp %p : tensor<3x8xT>
  return %r : tensor<3x8xT>
}""",
    "numbers": """func.func @f(%a: tensor<3xT>, %s: T) -> (T, tensor<3xT>, tensor<2xT>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %first, %last = func.call @ends(%a) : (tensor<3xT>) -> (T, T)
  %p = arith.mulf %first, %s : T
  %q = math.tanh %p : T
  %splat = tensor.splat %q : tensor<3xT>
  %r = arith.mulf %splat, %a : tensor<3xT>
  %w = tensor.insert %last into %r[%c0] : tensor<3xT>
  %e = tensor.from_elements %q, %last : tensor<2xT>
  return %q, %w, %e : T, tensor<3xT>, tensor<2xT>
}
func.func private @ends(%a: tensor<3xT>) -> (T, T) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %first = tensor.extract %a[%c0] : tensor<3xT>
  %last = tensor.extract %a[%c2] : tensor<3xT>
  return %first, %last : T, T
}""",
    "constants": """func.func @f(%a: tensor<3xT>) -> (tensor<3xT>, tensor<2xT>) {
  %c = arith.constant dense<[1.0, 2.0, 4.0]> : tensor<3xT>
  %two = arith.constant dense<2.0> : tensor<3xT>
  %p = arith.mulf %a, %c : tensor<3xT>
  %r = math.powf %p, %two : tensor<3xT>
  %unused = arith.constant dense<[1.5, 2.5]> : tensor<2xT>
  return %r, %unused : tensor<3xT>, tensor<2xT>
}""",
    "a softmax along the first axis": """func.func @f(%a: tensor<4x3xT>) -> tensor<4x3xT> {
  %e = tensor.empty() : tensor<4x3xT>
  %r = linalg.softmax dimension(0) ins(%a : tensor<4x3xT>) outs(%e : tensor<4x3xT>)
    -> tensor<4x3xT>
  return %r : tensor<4x3xT>
}""",
    "buffers": """func.func @f(%a: memref<5x4xT>, %b: memref<4x3xT>, %s: T, %c: memref<5x3xT>,
    %d: memref<3x5xT>) -> T {
  %z = arith.constant 0.0 : T
  %h = memref.alloc() : memref<5x3xT>
  linalg.fill ins(%z : T) outs(%h : memref<5x3xT>)
  linalg.matmul ins(%a, %b : memref<5x4xT>, memref<4x3xT>) outs(%h : memref<5x3xT>)
  linalg.exp ins(%h : memref<5x3xT>) outs(%h : memref<5x3xT>)
  memref.copy %h, %c : memref<5x3xT> to memref<5x3xT>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>],
                  iterator_types = ["parallel", "parallel"]}
    ins(%h : memref<5x3xT>) outs(%d : memref<3x5xT>) {
  ^bb0(%x: T, %o: T):
    %t = arith.mulf %x, %s : T
    linalg.yield %t : T
  }
  memref.dealloc %h : memref<5x3xT>
  return %s : T
}""",
    "elements that a region gives": """func.func @f(%a: tensor<4xT>) -> tensor<3x4xT> {
  %zero = arith.constant 0.0 : T
  %r = tensor.generate {
  ^bb0(%i: index, %j: index):
    %v = tensor.extract %a[%j] : tensor<4xT>
    %k = arith.cmpi ult, %i, %j : index
    %w = scf.if %k -> T {
      %s = math.sin %v : T
      scf.yield %s : T
    } else {
      scf.yield %zero : T
    }
    tensor.yield %w : T
  } : tensor<3x4xT>
  return %r : tensor<3x4xT>
}""",
}
