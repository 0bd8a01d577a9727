// A word that is loaded for the next iteration, too, is kept for it; one for the iteration after
// that is loaded again.

// CHECK: scf.if
// CHECK: [[FIRST:%.*]] = "flat.load"(%zero) <{array = "x", offset = 0 :
// CHECK: "slc.set"([[FIRST]]) <{variable = "ahead_0"}>
// CHECK-NOT: "slc.set"
// CHECK: scf.for %p
// CHECK: [[NOW:%.*]] = "slc.get"() <{variable = "ahead_0"}>
// CHECK-NOT: "flat.load"(%p) <{array = "x", offset = 0 :
// CHECK: [[NEXT:%.*]] = "flat.load"(%p) <{array = "x", offset = 1 :
// CHECK: "flat.load"(%p) <{array = "y", offset = 0 :
// CHECK: "flat.load"(%p) <{array = "y", offset = 2 :
// CHECK: arith.subf [[NEXT]], [[NOW]]
// CHECK: "slc.set"([[NEXT]]) <{variable = "ahead_0"}>
// CHECK-NOT: "slc.set"
func.func @f(%n: memref<i32>) attributes {names = "n"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %end = memref.load %n[] : memref<i32>
  scf.for %p = %zero to %end step %one : i32 {
    %now = "flat.load"(%p) <{array = "x", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> f32
    %next = "flat.load"(%p) <{array = "x", offset = 1 : i64, operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> f32
    %apart = "flat.load"(%p) <{array = "y", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> f32
    %further = "flat.load"(%p) <{array = "y", offset = 2 : i64, operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> f32
    %difference = arith.subf %next, %now : f32
    %other = arith.subf %further, %apart : f32
    %product = arith.mulf %difference, %other : f32
    "flat.store"(%p, %product) <{array = "out", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i32, f32) -> ()
    scf.yield
  }
  func.return
}
