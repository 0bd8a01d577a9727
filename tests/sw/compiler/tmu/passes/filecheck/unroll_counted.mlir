// Iterations of a loop with constant bounds stand one behind the other, those of a longer one some
// at a time, with the rest behind; others are left.

// CHECK: %end = memref.load %n
// CHECK-NEXT: [[FIRST:%.*]] = arith.constant 2 : i32
// CHECK-NEXT: arith.index_cast [[FIRST]]
// CHECK: [[SECOND:%.*]] = arith.constant 5 : i32
// CHECK-NEXT: arith.index_cast [[SECOND]]
// CHECK: [[END:%.*]] = arith.constant 896 : i32
// CHECK: [[STEP:%.*]] = arith.constant 64 : i32
// CHECK: scf.for %j = %zero to [[END]] step [[STEP]]
// CHECK: }
// CHECK: arith.constant 896 : i32
// CHECK: arith.constant 899 : i32
// CHECK-NOT: arith.constant 900 : i32
// CHECK: scf.for %k = %zero to %end step %one
func.func @f(%x: memref<900xf32>, %n: memref<i32>, %out: memref<900xf32>) attributes {names = "x,n,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %eight = arith.constant 8 : i32
  %many = arith.constant 900 : i32
  %end = memref.load %n[] : memref<i32>
  scf.for %i = %two to %eight step %three : i32 {
    %at = arith.index_cast %i : i32 to index
    %value = memref.load %x[%at] : memref<900xf32>
    memref.store %value, %out[%at] : memref<900xf32>
    scf.yield
  }
  scf.for %j = %zero to %many step %one : i32 {
    %at = arith.index_cast %j : i32 to index
    %value = memref.load %x[%at] : memref<900xf32>
    memref.store %value, %out[%at] : memref<900xf32>
    scf.yield
  }
  scf.for %k = %zero to %end step %one : i32 {
    %at = arith.index_cast %k : i32 to index
    %value = memref.load %x[%at] : memref<900xf32>
    memref.store %value, %out[%at] : memref<900xf32>
    scf.yield
  }
  func.return
}
