// A loop while both fibers go on, and one for what is left of each.

// CHECK: %[[ENDS:.*]] = scf.while
// CHECK: scf.condition
// CHECK: %[[A:.*]] = memref.load %left
// CHECK: %[[B:.*]] = memref.load %right
// CHECK: %[[K:.*]] = arith.minsi %[[A]], %[[B]] : i32
// CHECK: arith.addi
// CHECK: arith.addi
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %{{.*}} to %nine
// CHECK: memref.load %left
// CHECK: scf.for %{{.*}} = %{{.*}} to %seven
// CHECK: memref.load %right
// CHECK-NOT: fiber.merge
func.func @f(%left: memref<9xi32>, %right: memref<7xi32>, %out: memref<16xi32>) attributes {names = "left,right,out"} {
  %zero = arith.constant 0 : i32
  %nine = arith.constant 9 : i32
  %seven = arith.constant 7 : i32
  "fiber.merge"(%left, %right, %zero, %zero, %nine, %seven) <{kind = "union", operandSegmentSizes = array<i32: 2, 2, 2>}> ({
  ^bb0(%k: i32, %p: i32, %q: i32, %has_p: i1, %has_q: i1):
    %at = arith.index_cast %k : i32 to index
    memref.store %k, %out[%at] : memref<16xi32>
  }) : (memref<9xi32>, memref<7xi32>, i32, i32, i32, i32) -> ()
  func.return
}
