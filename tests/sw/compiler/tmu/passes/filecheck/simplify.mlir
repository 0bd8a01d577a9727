// Sums of numbers are numbers; equal operations are one, outside of loops that do not change them;
// nothing is computed that nothing needs. What a loop stores to is loaded in each iteration.

// CHECK: [[FIVE:%.*]] = arith.constant 5 : i32
// CHECK: [[SCALE:%.*]] = "flat.load"() <{array = "x", offset = 3 : i64
// CHECK: scf.for %p
// CHECK-NEXT: [[AT:%.*]] = arith.addi %p, [[FIVE]]
// CHECK-NEXT: [[OLD:%.*]] = "flat.load"([[AT]]) <{array = "out"
// CHECK-NEXT: [[NEW:%.*]] = arith.mulf [[OLD]], [[SCALE]]
// CHECK-NEXT: "flat.store"([[AT]], [[NEW]])
// CHECK-NEXT: [[AGAIN:%.*]] = "flat.load"([[AT]]) <{array = "out"
// CHECK-NEXT: "flat.store"(%p, [[AGAIN]])
func.func @f() attributes {names = ""} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %nine = arith.constant 9 : i32
  scf.for %p = %zero to %nine step %one : i32 {
    %three = arith.addi %one, %two : i32
    %five = arith.addi %three, %two : i32
    %at = arith.addi %p, %five : i32
    %scale = "flat.load"() <{array = "x", offset = 3 : i64, operandSegmentSizes = array<i32: 0, 0>}> : () -> f32
    %old = "flat.load"(%at) <{array = "out", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> f32
    %new = arith.mulf %old, %scale : f32
    %vain = arith.addf %new, %scale : f32
    "flat.store"(%at, %new) <{array = "out", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i32, f32) -> ()
    %same = arith.addi %p, %five : i32
    %again = "flat.load"(%same) <{array = "out", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0>}> : (i32) -> f32
    "flat.store"(%p, %again) <{array = "out", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i32, f32) -> ()
    scf.yield
  }
  func.return
}
