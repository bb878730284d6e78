// Forms of upstream's dialects, one a function: test_upstream_forms.py differentiates each.

func.func @buffers_change_places(%a: memref<4xf64>, %b: memref<4xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a, %y = %b) -> (memref<4xf64>, memref<4xf64>) {
    %v = memref.load %x[%i] : memref<4xf64>
    %s = math.sin %v : f64
    memref.store %s, %y[%i] : memref<4xf64>
    scf.yield %y, %x : memref<4xf64>, memref<4xf64>
  }
  %w = memref.load %r#0[%c1] : memref<4xf64>
  return %w : f64
}

func.func @buffer_of_a_loop(%a: memref<4xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %a) -> (memref<4xf64>) {
    %v = memref.load %x[%i] : memref<4xf64>
    %s = math.sin %v : f64
    %k = arith.addi %i, %c1 : index
    memref.store %s, %x[%k] : memref<4xf64>
    scf.yield %x : memref<4xf64>
  }
  %w = memref.load %r[%c3] : memref<4xf64>
  return %w : f64
}

func.func @buffer_of_a_branch(%a: memref<4xf64>, %b: memref<4xf64>, %s: f64) -> f64 {
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.0 : f64
  %c = arith.cmpf ogt, %s, %z : f64
  %r = scf.if %c -> (memref<4xf64>) {
    scf.yield %a : memref<4xf64>
  } else {
    scf.yield %b : memref<4xf64>
  }
  %w = memref.load %r[%c1] : memref<4xf64>
  %t = arith.mulf %w, %s : f64
  memref.store %t, %r[%c1] : memref<4xf64>
  %u = memref.load %a[%c1] : memref<4xf64>
  %p = arith.mulf %u, %t : f64
  return %p : f64
}

func.func @buffer_of_a_choice(%a: memref<4xf64>, %b: memref<4xf64>, %k: i32) -> f64 {
  %c1 = arith.constant 1 : index
  %z = arith.constant 0 : i32
  %c = arith.cmpi sgt, %k, %z : i32
  %r = arith.select %c, %a, %b : memref<4xf64>
  %w = memref.load %r[%c1] : memref<4xf64>
  %s = math.sin %w : f64
  memref.store %s, %r[%c1] : memref<4xf64>
  return %s : f64
}

func.func @tiles(%a: tensor<6x8xf64>) -> tensor<3x4x2x2xf64> {
  %s = math.sin %a : tensor<6x8xf64>
  %e = tensor.empty() : tensor<3x4x2x2xf64>
  %p = linalg.pack %s inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e : tensor<6x8xf64> -> tensor<3x4x2x2xf64>
  return %p : tensor<3x4x2x2xf64>
}

func.func @tiles_with_padding(%a: tensor<5x8xf64>) -> tensor<4x3x2x2xf64> {
  %z = arith.constant 0.0 : f64
  %s = math.sin %a : tensor<5x8xf64>
  %e = tensor.empty() : tensor<4x3x2x2xf64>
  %p = linalg.pack %s padding_value(%z : f64) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [2, 2] into %e : tensor<5x8xf64> -> tensor<4x3x2x2xf64>
  return %p : tensor<4x3x2x2xf64>
}

func.func @without_tiles(%a: tensor<3x4x2x2xf64>) -> tensor<5x8xf64> {
  %s = math.sin %a : tensor<3x4x2x2xf64>
  %e = tensor.empty() : tensor<5x8xf64>
  %p = linalg.unpack %s inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e : tensor<3x4x2x2xf64> -> tensor<5x8xf64>
  return %p : tensor<5x8xf64>
}

func.func @elements_at_indices(%a: tensor<4x5xf64>, %i: tensor<6x1xindex>) -> tensor<6x1x5xf64> {
  %g = tensor.gather %a[%i] gather_dims([0]) : (tensor<4x5xf64>, tensor<6x1xindex>) -> tensor<6x1x5xf64>
  %r = math.sin %g : tensor<6x1x5xf64>
  return %r : tensor<6x1x5xf64>
}

func.func @elements_at_coordinates(%a: tensor<8x8xf64>, %i: tensor<6x2xi32>) -> tensor<6xf64> {
  %g = tensor.gather %a[%i] gather_dims([0, 1]) : (tensor<8x8xf64>, tensor<6x2xi32>) -> tensor<6xf64>
  %r = math.sin %g : tensor<6xf64>
  return %r : tensor<6xf64>
}

func.func @slices_at_coordinates(%s: tensor<3x5xf64>, %a: tensor<8x5xf64>, %i: tensor<3x1xi32>) -> tensor<8x5xf64> {
  %q = math.sin %s : tensor<3x5xf64>
  %x = tensor.expand_shape %q [[0, 1], [2]] output_shape [3, 1, 5] : tensor<3x5xf64> into tensor<3x1x5xf64>
  %g = tensor.scatter %x into %a[%i] scatter_dims([0]) unique : (tensor<3x1x5xf64>, tensor<8x5xf64>, tensor<3x1xi32>) -> tensor<8x5xf64>
  return %g : tensor<8x5xf64>
}

func.func @view_of_bytes(%a: memref<4xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %m = memref.alloc() : memref<64xi8>
  %v = memref.view %m[%c0][] : memref<64xi8> to memref<2x4xf64>
  %x = memref.load %a[%c2] : memref<4xf64>
  %s = math.sin %x : f64
  memref.store %s, %v[%c1, %c2] : memref<2x4xf64>
  %y = memref.load %v[%c1, %c2] : memref<2x4xf64>
  %z = arith.mulf %y, %y : f64
  memref.dealloc %m : memref<64xi8>
  return %z : f64
}

func.func @extended_memory(%a: memref<4xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %m = memref.alloc() : memref<3xf64>
  %x = memref.load %a[%c1] : memref<4xf64>
  %s = math.sin %x : f64
  memref.store %s, %m[%c1] : memref<3xf64>
  %n = memref.realloc %m : memref<3xf64> to memref<6xf64>
  memref.store %x, %n[%c5] : memref<6xf64>
  %y = memref.load %n[%c1] : memref<6xf64>
  %y5 = memref.load %n[%c5] : memref<6xf64>
  %z = arith.mulf %y, %y5 : f64
  memref.dealloc %n : memref<6xf64>
  return %z : f64
}

func.func @loop_of_blocks(%a: memref<4xf64>, %n: i32) -> f64 {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = memref.load %a[%c0] : memref<4xf64>
  cf.br ^loop(%z, %x : i32, f64)
^loop(%i: i32, %v: f64):
  %c = arith.cmpi slt, %i, %n : i32
  cf.cond_br %c, ^body, ^end
^body:
  %w = math.sin %v : f64
  %j = arith.addi %i, %one : i32
  cf.br ^loop(%j, %w : i32, f64)
^end:
  return %v : f64
}

func.func @switch_of_blocks(%a: f64, %n: i32) -> f64 {
  cf.switch %n : i32, [ default: ^d(%a : f64), 1: ^b1, 2: ^b2 ]
^b1:
  %s = math.sin %a : f64
  cf.br ^d(%s : f64)
^b2:
  %t = arith.mulf %a, %a : f64
  cf.br ^d(%t : f64)
^d(%v: f64):
  return %v : f64
}

func.func @slices_in_parallel(%a: tensor<4x6xf64>) -> tensor<4x6xf64> {
  %e = tensor.empty() : tensor<4x6xf64>
  %r = scf.forall (%i, %j) in (4, 2) shared_outs(%o = %e) -> (tensor<4x6xf64>) {
    %c3 = arith.constant 3 : index
    %k = arith.muli %j, %c3 : index
    %s = tensor.extract_slice %a[%i, %k] [1, 3] [1, 1] : tensor<4x6xf64> to tensor<1x3xf64>
    %t = math.sin %s : tensor<1x3xf64>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[%i, %k] [1, 3] [1, 1] : tensor<1x3xf64> into tensor<4x6xf64>
    }
  }
  return %r : tensor<4x6xf64>
}

func.func @choice_of_several(%a: f64, %n: index) -> f64 {
  %r = scf.index_switch %n -> f64
  case 1 {
    %s = math.sin %a : f64
    scf.yield %s : f64
  }
  default {
    %t = arith.mulf %a, %a : f64
    scf.yield %t : f64
  }
  return %r : f64
}

func.func @loop_with_condition(%a: f64) -> f64 {
  %m = arith.constant 3.0 : f64
  %k = arith.constant 1.7 : f64
  %r = scf.while (%x = %a) : (f64) -> f64 {
    %q = arith.mulf %x, %x : f64
    %c = arith.cmpf olt, %q, %m : f64
    scf.condition(%c) %x : f64
  } do {
  ^bb0(%y: f64):
    %z = arith.addf %y, %k : f64
    %w = math.sin %y : f64
    %v = arith.addf %z, %w : f64
    scf.yield %v : f64
  }
  return %r : f64
}

func.func @transfers_with_masks(%a: memref<4x6xf64>, %n: index) -> vector<3x4xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0.5 : f64
  %m = vector.create_mask %n, %n : vector<4x3xi1>
  %v = vector.transfer_read %a[%c0, %c1], %z, %m {permutation_map = affine_map<(i, j) -> (j, i)>, in_bounds = [true, true]} : memref<4x6xf64>, vector<3x4xf64>
  %s = math.sin %v : vector<3x4xf64>
  vector.transfer_write %s, %a[%c0, %c1], %m {permutation_map = affine_map<(i, j) -> (j, i)>, in_bounds = [true, true]} : vector<3x4xf64>, memref<4x6xf64>
  return %s : vector<3x4xf64>
}

func.func @repeating_transfer(%a: memref<4x6xf64>) -> vector<3x4xf64> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %z = arith.constant 0.5 : f64
  %v = vector.transfer_read %a[%c0, %c3], %z {permutation_map = affine_map<(i, j) -> (0, j)>, in_bounds = [true, false]} : memref<4x6xf64>, vector<3x4xf64>
  %s = math.sin %v : vector<3x4xf64>
  return %s : vector<3x4xf64>
}

func.func @tensors_change_places(%a: tensor<3x4xf64>, %b: tensor<3x4xf64>)
    -> (tensor<3x4xf64>, tensor<3x4xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %r:2 = scf.for %i = %c0 to %c3 step %c1
      iter_args(%x = %a, %y = %b) -> (tensor<3x4xf64>, tensor<3x4xf64>) {
    %q:2 = scf.for %j = %c0 to %c4 step %c1
        iter_args(%u = %x, %v = %y) -> (tensor<3x4xf64>, tensor<3x4xf64>) {
      %e = tensor.extract %u[%i, %j] : tensor<3x4xf64>
      %g = tensor.extract %v[%i, %j] : tensor<3x4xf64>
      %s = math.sin %e : f64
      %p = arith.mulf %s, %g : f64
      %t = tensor.insert %p into %u[%i, %j] : tensor<3x4xf64>
      %w = tensor.insert %s into %v[%i, %j] : tensor<3x4xf64>
      scf.yield %w, %t : tensor<3x4xf64>, tensor<3x4xf64>
    }
    scf.yield %q#1, %q#0 : tensor<3x4xf64>, tensor<3x4xf64>
  }
  return %r#0, %r#1 : tensor<3x4xf64>, tensor<3x4xf64>
}
