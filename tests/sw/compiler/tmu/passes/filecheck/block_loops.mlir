// Sums of several rows at a time: what a row does not change is loaded once for all of them. Of all
// eight: 1 + 8 x 3 instructions, and no rest, whose sum would wait for itself.

// CHECK: %1 = arith.constant 8 : i32
// CHECK-NEXT: [[STEP:%.*]] = arith.constant 8 : i32
// CHECK-NEXT: scf.for %i = {{.*}} step [[STEP]]
// CHECK: [[NEXT:%.*]] = arith.addi %i
// CHECK: scf.for %k
// CHECK: memref.load %x
// CHECK-NOT: memref.load %x
// CHECK: memref.load %a
// CHECK: memref.load %a
// CHECK: memref.store {{.*}}, %out
// CHECK: memref.store {{.*}}, %out
func.func @f(%a: memref<8x64xf32>, %x: memref<64xf32>, %out: memref<8xf32>) attributes {names = "a,x,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  %end = arith.constant 64 : i32
  scf.for %i = %zero to %eight step %one : i32 {
    %row = arith.index_cast %i : i32 to index
    scf.for %k = %zero to %end step %one : i32 {
      %inner = arith.index_cast %k : i32 to index
      %right = memref.load %x[%inner] : memref<64xf32>
      %left = memref.load %a[%row, %inner] : memref<8x64xf32>
      %product = arith.mulf %left, %right : f32
      %before = memref.load %out[%row] : memref<8xf32>
      %sum = arith.addf %before, %product : f32
      memref.store %sum, %out[%row] : memref<8xf32>
      scf.yield
    }
    scf.yield
  }
  func.return
}
