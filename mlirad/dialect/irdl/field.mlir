// The dialect 'field' of mlirad; tools/irdl_files.py writes it.
// pure: field.chunk, field.random, field.fetch, field.get, field.dim, field.address, field.spell
irdl.dialect @field {
  irdl.type @array {
    %0 = irdl.base "#builtin.type"
    %1 = irdl.base "#builtin.array"
    irdl.parameters(element: %0, extents: %1)
  }
  irdl.type @word {
    irdl.parameters()
  }
  irdl.operation @chunk {
    %0 = irdl.base "!builtin.index"
    irdl.results(number: %0)
  }
  irdl.operation @random {
    %0 = irdl.is i64
    irdl.operands(launch: %0, iteration: %0, draw: %0)
    %1 = irdl.any
    irdl.results(value: %1)
  }
  irdl.operation @clock {
    %0 = irdl.is i64
    irdl.results(ticks: %0)
  }
  irdl.operation @fetch {
    %0 = irdl.base "!builtin.index"
    irdl.operands(values: variadic %0)
    %1 = irdl.base "!builtin.index"
    irdl.results(known: variadic %1)
  }
  irdl.operation @sync
  irdl.operation @shuffle {
    %0 = irdl.any
    %1 = irdl.base "!builtin.index"
    irdl.operands(value: %0, lane: %1)
    %2 = irdl.any
    irdl.results(result: %2)
  }
  irdl.operation @ballot {
    %0 = irdl.is i1
    irdl.operands(predicate: %0)
    %1 = irdl.is i32
    irdl.results(bits: %1)
  }
  irdl.operation @shared {
    %0 = irdl.any
    irdl.results(array: %0)
  }
  irdl.operation @get {
    %0 = irdl.base "#builtin.symbol_ref"
    irdl.attributes {"field" = %0}
    %1 = irdl.any
    irdl.results(array: %1)
  }
  irdl.operation @alloca {
    %0 = irdl.any
    irdl.results(array: %0)
  }
  irdl.operation @load {
    %0 = irdl.any
    %1 = irdl.base "!builtin.index"
    irdl.operands(array: %0, indices: variadic %1)
    %2 = irdl.any
    irdl.results(value: %2)
  }
  irdl.operation @store {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.base "!builtin.index"
    irdl.operands(value: %0, array: %1, indices: variadic %2)
  }
  irdl.operation @atomic {
    %0 = irdl.any
    %1 = irdl.any
    %2 = irdl.base "!builtin.index"
    irdl.operands(value: %0, array: %1, indices: variadic %2)
    %3 = irdl.base "#builtin.string"
    irdl.attributes {"kind" = %3}
    %4 = irdl.any
    irdl.results(old: %4)
  }
  irdl.operation @dim {
    %0 = irdl.any
    irdl.operands(array: %0)
    %1 = irdl.base "#builtin.integer"
    irdl.attributes {"axis" = %1}
    %2 = irdl.base "!builtin.index"
    irdl.results(extent: %2)
  }
  irdl.operation @address {
    %0 = irdl.any
    %1 = irdl.base "!builtin.index"
    irdl.operands(array: %0, indices: variadic %1)
    %2 = irdl.is i64
    irdl.results(place: %2)
  }
  irdl.operation @spell {
    %0 = irdl.any
    irdl.operands(value: %0)
    %1 = irdl.any
    irdl.results(word: %1)
  }
  irdl.operation @print {
    %0 = irdl.any
    irdl.operands(values: variadic %0)
    %1 = irdl.base "#builtin.string"
    irdl.attributes {"format" = %1}
  }
  irdl.operation @assert {
    %0 = irdl.is i1
    %1 = irdl.any
    irdl.operands(condition: %0, values: variadic %1)
    %2 = irdl.base "#builtin.string"
    irdl.attributes {"message" = %2}
  }
}
