// An index that is shifted to fetch a row eight iterations ahead is kept, shifted, for its turn; the
// first of them are loaded before the loop, if that runs.

// CHECK: [[RUNS:%.*]] = arith.cmpi slt, %zero, %end
// CHECK: scf.if [[RUNS]] {
// CHECK-NEXT: [[FIRST:%.*]] = "flat.load"(%zero) <{array = "i", offset = 0 : i64
// CHECK-NEXT: [[ROW:%.*]] = arith.shli [[FIRST]], %four
// CHECK-NEXT: "slc.set"([[ROW]]) <{variable = "ahead_0"}>
// CHECK: scf.for %p
// CHECK-NOT: "flat.load"(%p) <{array = "i", offset = 0
// CHECK: [[NOW:%.*]] = "slc.get"() <{variable = "ahead_0"}>
// CHECK: [[LATER:%.*]] = "flat.load"(%p) <{array = "i", offset = 8 : i64
// CHECK: [[NEXT:%.*]] = arith.shli [[LATER]], %four
// CHECK: "flat.prefetch"([[NEXT]])
// CHECK: "flat.load"([[NOW]]) <{array = "x"
// CHECK: "slc.set"([[NEXT]]) <{variable = "ahead_0"}>
func.func @f(%n: memref<i32>) attributes {names = "n"} {
  %zero = arith.constant 0 : i32
  %four = arith.constant 4 : i32
  %eight = arith.constant 8 : i32
  %end = memref.load %n[] : memref<i32>
  scf.for %p = %zero to %end step %eight : i32 {
    %now = "flat.load"(%p) <{array = "i", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> i32
    %row = arith.shli %now, %four : i32
    %later = "flat.load"(%p) <{array = "i", offset = 8 : i64, operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> i32
    %ahead = arith.shli %later, %four : i32
    "flat.prefetch"(%ahead) <{array = "x", offset = 0 : i64}> : (i32) -> ()
    %value = "flat.load"(%row) <{array = "x", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> f32
    "flat.store"(%p, %value) <{array = "out", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i32, f32) -> ()
    scf.yield
  }
  func.return
}
