// An element that needs the one before it.

// CHECK-NOT: vector
func.func @f(%out: memref<9xf32>) attributes {names = "out"} {
  %one = arith.constant 1 : i32
  %end = arith.constant 9 : i32
  scf.for %e = %one to %end step %one : i32 {
    %before = arith.subi %e, %one : i32
    %b = arith.index_cast %before : i32 to index
    %at = arith.index_cast %e : i32 to index
    %element = memref.load %out[%b] : memref<9xf32>
    memref.store %element, %out[%at] : memref<9xf32>
    scf.yield
  }
  func.return
}
