// Rows that need the sums of rows before them.

// CHECK: memref.store
// CHECK-NOT: memref.store
func.func @f(%a: memref<8x8xf32>, %out: memref<8xf32>) attributes {names = "a,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  scf.for %i = %zero to %eight step %one : i32 {
    %row = arith.index_cast %i : i32 to index
    scf.for %k = %zero to %eight step %one : i32 {
      %inner = arith.index_cast %k : i32 to index
      %right = memref.load %out[%inner] : memref<8xf32>
      %left = memref.load %a[%row, %inner] : memref<8x8xf32>
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
