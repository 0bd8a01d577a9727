// What a branch without another side does in a union, it does where the mask's bit 0 is 1.

// CHECK: "slc.callback"(%mask, %{{.*}}, %{{.*}})
// CHECK-NEXT: ^bb0(%[[MASK:.*]]: i32, %{{.*}}: i32, %{{.*}}: i32):
// CHECK-NEXT: %[[HAS:.*]] = arith.trunci %[[MASK]] : i32 to i1
// CHECK-NEXT: scf.if %[[HAS]] {
// CHECK: memref.store
// CHECK-NOT: else
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
    }
  }) : (memref<9xi32>, memref<7xi32>, i32, i32, i32, i32) -> ()
  func.return
}
