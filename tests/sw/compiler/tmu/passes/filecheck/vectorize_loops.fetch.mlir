// A line that each iteration fetches is none that a vector would.

// CHECK: scf.for
// CHECK: "flat.fetch"(%x, %at)
// CHECK-NOT: vector
func.func @f(%x: memref<9xf32>, %out: memref<9xf32>) attributes {names = "x,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %nine = arith.constant 9 : i32
  scf.for %e = %zero to %nine step %one : i32 {
    %at = arith.index_cast %e : i32 to index
    "flat.fetch"(%x, %at) : (memref<9xf32>, index) -> ()
    %element = memref.load %x[%at] : memref<9xf32>
    memref.store %element, %out[%at] : memref<9xf32>
    scf.yield
  }
  func.return
}
