// The dialect 'snode' of mlirad; tools/irdl_files.py writes it.
// no terminator: snode.root, snode.dense, snode.pointer, snode.bitmasked, snode.dynamic
irdl.dialect @snode {
  irdl.operation @root {
    %0 = irdl.base "#builtin.string"
    irdl.attributes {"sym_name" = %0}
    %1 = irdl.region
    irdl.regions(body: %1)
  }
  irdl.operation @dense {
    %0 = irdl.base "#builtin.array"
    %1 = irdl.base "#builtin.array"
    irdl.attributes {"axes" = %0, "extents" = %1}
    %2 = irdl.region
    irdl.regions(body: %2)
  }
  irdl.operation @pointer {
    %0 = irdl.base "#builtin.array"
    %1 = irdl.base "#builtin.array"
    %2 = irdl.base "#builtin.symbol_ref"
    irdl.attributes {"axes" = %0, "extents" = %1, "activity" = %2}
    %3 = irdl.region
    irdl.regions(body: %3)
  }
  irdl.operation @bitmasked {
    %0 = irdl.base "#builtin.array"
    %1 = irdl.base "#builtin.array"
    %2 = irdl.base "#builtin.symbol_ref"
    irdl.attributes {"axes" = %0, "extents" = %1, "activity" = %2}
    %3 = irdl.region
    irdl.regions(body: %3)
  }
  irdl.operation @dynamic {
    %0 = irdl.base "#builtin.array"
    %1 = irdl.base "#builtin.array"
    %2 = irdl.base "#builtin.symbol_ref"
    irdl.attributes {"axes" = %0, "extents" = %1, "activity" = %2}
    %3 = irdl.region
    irdl.regions(body: %3)
  }
  irdl.operation @place {
    %0 = irdl.base "#builtin.string"
    %1 = irdl.base "#builtin.type"
    %2 = irdl.base "#builtin.array"
    irdl.attributes {"sym_name" = %0, "element" = %1, "component_shape" = %2}
  }
  irdl.operation @activate {
    %0 = irdl.base "!builtin.index"
    irdl.operands(indices: variadic %0)
    %1 = irdl.base "#builtin.symbol_ref"
    irdl.attributes {"activity" = %1}
  }
  irdl.operation @deactivate {
    %0 = irdl.base "!builtin.index"
    irdl.operands(indices: variadic %0)
    %1 = irdl.base "#builtin.symbol_ref"
    irdl.attributes {"activity" = %1}
  }
  irdl.operation @is_active {
    %0 = irdl.base "!builtin.index"
    irdl.operands(indices: variadic %0)
    %1 = irdl.base "#builtin.symbol_ref"
    irdl.attributes {"activity" = %1}
    %2 = irdl.is i1
    irdl.results(answer: %2)
  }
  irdl.operation @length {
    %0 = irdl.base "!builtin.index"
    irdl.operands(indices: variadic %0)
    %1 = irdl.base "#builtin.symbol_ref"
    irdl.attributes {"activity" = %1}
    %2 = irdl.any
    irdl.results(count: %2)
  }
  irdl.operation @append {
    %0 = irdl.base "!builtin.index"
    irdl.operands(indices: variadic %0)
    %1 = irdl.base "#builtin.symbol_ref"
    irdl.attributes {"activity" = %1}
    %2 = irdl.any
    irdl.results(number: %2)
  }
}
