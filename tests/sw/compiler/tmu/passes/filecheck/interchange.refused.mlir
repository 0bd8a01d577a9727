// An element that an iteration of another order would read before it is written.

// CHECK: scf.for %k
// CHECK: scf.for %i
func.func @f(%out: memref<8x8xf32>) attributes {names = "out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  scf.for %k = %zero to %eight step %one : i32 {
    scf.for %i = %zero to %eight step %one : i32 {
      %row = arith.index_cast %i : i32 to index
      %inner = arith.index_cast %k : i32 to index
      %before = memref.load %out[%inner, %row] : memref<8x8xf32>
      memref.store %before, %out[%row, %inner] : memref<8x8xf32>
      scf.yield
    }
    scf.yield
  }
  func.return
}
