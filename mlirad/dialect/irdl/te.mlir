// The dialect 'te' of mlirad; tools/irdl_files.py writes it.
// terminators: te.put, te.yield
// pure: te.size, te.placeholder, te.compute, te.scatter, te.scan, te.read, te.reduce
irdl.dialect @te {
  irdl.operation @size {
    %0 = irdl.base "#builtin.string"
    irdl.attributes {"label" = %0}
    %1 = irdl.base "!builtin.index"
    irdl.results(extent: %1)
  }
  irdl.operation @placeholder {
    %0 = irdl.base "!builtin.index"
    irdl.operands(sizes: variadic %0)
    %1 = irdl.base "#builtin.string"
    irdl.attributes {"label" = %1}
    %2 = irdl.any
    irdl.results(tensor: %2)
  }
  irdl.operation @put {
    %0 = irdl.is i1
    %1 = irdl.any
    %2 = irdl.base "!builtin.index"
    irdl.operands(holds_here: %0, value: %1, indices: variadic %2)
  }
  irdl.operation @yield {
    %0 = irdl.any
    irdl.operands(values: variadic %0)
  }
  irdl.operation @compute {
    %0 = irdl.base "!builtin.index"
    irdl.operands(sizes: variadic %0)
    %1 = irdl.base "#builtin.string"
    irdl.attributes {"label" = %1}
    %2 = irdl.any
    irdl.results(tensor: %2)
    %3 = irdl.region
    irdl.regions(body: %3)
  }
  irdl.operation @scatter {
    %0 = irdl.base "!builtin.index"
    irdl.operands(extents: variadic %0)
    %1 = irdl.base "#builtin.string"
    irdl.attributes {"label" = %1}
    %2 = irdl.any
    irdl.results(tensor: %2)
    %3 = irdl.region
    irdl.regions(body: %3)
  }
  irdl.operation @scan {
    %0 = irdl.base "!builtin.index"
    irdl.operands(sizes: variadic %0)
    %1 = irdl.base "#builtin.string"
    %2 = irdl.base "#builtin.integer"
    irdl.attributes {"label" = %1, "states" = %2}
    %3 = irdl.any
    irdl.results(tensor: %3)
    %4 = irdl.region
    %5 = irdl.region
    irdl.regions(first: %4, step: %5)
  }
  irdl.operation @read {
    %0 = irdl.any
    %1 = irdl.base "!builtin.index"
    irdl.operands(tensor: %0, indices: variadic %1)
    %2 = irdl.any
    irdl.results(value: %2)
  }
  irdl.operation @reduce {
    %0 = irdl.base "!builtin.index"
    %1 = irdl.any
    irdl.operands(bounds: variadic %0, initial: variadic %1)
    %2 = irdl.base "#builtin.string"
    irdl.attributes {"kind" = %2}
    %3 = irdl.any
    irdl.results(values: variadic %3)
    %4 = irdl.region
    %5 = irdl.region
    irdl.regions(body: %4, combiner: %5)
  }
}
