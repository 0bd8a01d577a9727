// Two stores to the same word become one of what is chosen; the load is at a fiber's position.

// CHECK: "fiber.merge"
// CHECK: memref.load %values
// CHECK: %[[CHOSEN:.*]] = arith.select %has_p, %{{.*}}, %{{.*}} : f32
// CHECK-NOT: scf.if
// CHECK: memref.store %[[CHOSEN]], %out
// CHECK-NOT: memref.store
func.func @f(%left: memref<9xi32>, %right: memref<7xi32>, %values: memref<9xf32>, %out: memref<16xf32>) attributes {names = "left,right,values,out"} {
  %zero = arith.constant 0 : i32
  %nine = arith.constant 9 : i32
  %seven = arith.constant 7 : i32
  "fiber.merge"(%left, %right, %zero, %zero, %nine, %seven) <{kind = "union", operandSegmentSizes = array<i32: 2, 2, 2>}> ({
  ^bb0(%k: i32, %p: i32, %q: i32, %has_p: i1, %has_q: i1):
    scf.if %has_p {
      %place = arith.index_cast %p : i32 to index
      %value = memref.load %values[%place] : memref<9xf32>
      %result = arith.index_cast %k : i32 to index
      memref.store %value, %out[%result] : memref<16xf32>
    } else {
      %one = arith.constant 1.000000e+00 : f32
      %result = arith.index_cast %k : i32 to index
      memref.store %one, %out[%result] : memref<16xf32>
    }
  }) : (memref<9xi32>, memref<7xi32>, i32, i32, i32, i32) -> ()
  func.return
}
