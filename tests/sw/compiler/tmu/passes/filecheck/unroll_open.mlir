// Eight iterations at a time up to a multiple of eight, and one at a time from there on.

// CHECK: [[SPAN:%.*]] = arith.subi %end, %zero
// CHECK: [[SOME:%.*]] = arith.maxsi [[SPAN]]
// CHECK: [[MASK:%.*]] = arith.constant -8 : i32
// CHECK: [[WHOLE:%.*]] = arith.andi [[SOME]], [[MASK]]
// CHECK: [[MIDDLE:%.*]] = arith.addi %zero, [[WHOLE]]
// CHECK: [[EIGHT:%.*]] = arith.constant 8 : i32
// CHECK: scf.for [[I:%.*]] = %zero to [[MIDDLE]] step [[EIGHT]]
// CHECK: memref.store
// CHECK: [[SEVEN:%.*]] = arith.constant 7 : i32
// CHECK: [[LAST:%.*]] = arith.addi [[I]], [[SEVEN]]
// CHECK: arith.index_cast [[LAST]]
// CHECK: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: scf.for {{%.*}} = [[MIDDLE]] to %end step %one
// CHECK: memref.store
// CHECK-NEXT: }
func.func @f(%x: memref<99xf32>, %n: memref<i32>, %out: memref<99xf32>) attributes {names = "x,n,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %end = memref.load %n[] : memref<i32>
  scf.for %i = %zero to %end step %one : i32 {
    %at = arith.index_cast %i : i32 to index
    %value = memref.load %x[%at] : memref<99xf32>
    memref.store %value, %out[%at] : memref<99xf32>
    scf.yield
  }
  func.return
}
