module {
  func.func @cube(%arg0: !field.array<f64, []> {field.argument = 0 : i64, field.role = ["argument", 0]}, %arg1: !field.array<f64, []> {field.argument = 1 : i64, field.role = ["result", 0]}) {
    %0 = "field.load"(%arg0) : (!field.array<f64, []>) -> f64
    %1 = arith.mulf %0, %0 : f64
    %2 = arith.mulf %1, %0 : f64
    "field.store"(%2, %arg1) : (f64, !field.array<f64, []>) -> ()
    return
  }
}
