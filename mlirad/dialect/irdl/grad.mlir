// The dialect 'grad' of mlirad; tools/irdl_files.py writes it.
// terminators: grad.yield
// isolated from above: grad.custom
// pure: grad.detach, grad.custom, grad.vjp, grad.jvp
irdl.dialect @grad {
  irdl.type @stack {
    %0 = irdl.base "#builtin.type"
    irdl.parameters(element: %0)
  }
  irdl.type @log {
    %0 = irdl.base "#builtin.type"
    %1 = irdl.base "#builtin.integer"
    irdl.parameters(element: %0, rank: %1)
  }
  irdl.operation @alloc {
    %0 = irdl.base "!builtin.index"
    irdl.operands(trips: %0)
    %1 = irdl.any
    irdl.results(stack: %1)
  }
  irdl.operation @push {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.base "!builtin.index"
    irdl.operands(value: %0, stack: %1, trip: %2)
  }
  irdl.operation @pop {
    %0 = irdl.any
    %1 = irdl.base "!builtin.index"
    irdl.operands(stack: %0, trip: %1)
    %2 = irdl.any
    irdl.results(value: %2)
  }
  irdl.operation @free {
    %0 = irdl.any
    irdl.operands(stack: %0)
  }
  irdl.operation @yield {
    %0 = irdl.any
    irdl.operands(values: variadic %0)
  }
  irdl.operation @detach {
    %0 = irdl.any
    irdl.operands(value: %0)
    %1 = irdl.any
    irdl.results(result: %1)
  }
  irdl.operation @dual {
    %0 = irdl.any
    irdl.operands(inputs: variadic %0)
    %1 = irdl.base "#builtin.integer"
    irdl.attributes {"directions" = %1}
    %2 = irdl.any
    irdl.results(outputs: variadic %2)
    %3 = irdl.region
    irdl.regions(body: %3)
  }
  irdl.operation @custom {
    %0 = irdl.any
    %1 = irdl.is i64
    irdl.operands(floats: variadic %0, integers: variadic %1)
    %2 = irdl.base "#builtin.string"
    irdl.attributes {"function" = %2}
    %3 = irdl.any
    irdl.results(values: variadic %3)
    %4 = irdl.region
    %5 = irdl.region
    %6 = irdl.region
    irdl.regions(primal: %4, vjp: %5, jvp: %6)
  }
  irdl.operation @open {
    %0 = irdl.base "!builtin.index"
    irdl.operands(entries: variadic %0)
    %1 = irdl.any
    irdl.results(log: %1)
  }
  irdl.operation @record {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.base "!builtin.index"
    irdl.operands(value: %0, log: %1, indices: variadic %2)
  }
  irdl.operation @mark {
    %0 = irdl.any
    irdl.operands(log: %0)
    %1 = irdl.base "!builtin.index"
    irdl.results(count: %1)
  }
  irdl.operation @undo {
    %0 = irdl.any
    %1 = irdl.base "!builtin.index"
    %2 = irdl.any
    irdl.operands(log: %0, count: %1, array: %2)
  }
  irdl.operation @close {
    %0 = irdl.any
    irdl.operands(log: %0)
  }
  irdl.operation @vjp {
    %0 = irdl.base "#builtin.symbol_ref"
    %1 = irdl.base "#builtin.array"
    irdl.attributes {"callee" = %0, "active" = %1}
    %2 = irdl.any
    irdl.results(derivative: %2)
  }
  irdl.operation @jvp {
    %0 = irdl.base "#builtin.symbol_ref"
    %1 = irdl.base "#builtin.array"
    irdl.attributes {"callee" = %0, "active" = %1}
    %2 = irdl.any
    irdl.results(derivative: %2)
  }
}
