#loc1 = loc("-":1:1)
module {
  func.func @cube(%arg0: !field.array<f64, []> {field.argument = 0 : i64, field.role = ["argument", 0]} loc("-":1:1), %arg1: !field.array<f64, []> {field.argument = 1 : i64, field.role = ["result", 0]} loc("-":1:1)) {
    %0 = "field.load"(%arg0) : (!field.array<f64, []>) -> f64 loc(#loc1)
    %1 = arith.mulf %0, %0 : f64 loc(#loc2)
    %2 = arith.mulf %1, %0 : f64 loc(#loc3)
    "field.store"(%2, %arg1) : (f64, !field.array<f64, []>) -> () loc(#loc4)
    return loc(#loc4)
  } loc(#loc1)
} loc(#loc)
#loc = loc("-":0:0)
#loc2 = loc("-":2:15)
#loc3 = loc("-":3:15)
#loc4 = loc("-":4:10)
