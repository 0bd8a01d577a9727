// What is loaded from before the first element is loaded only where it is chosen.

// CHECK: scf.for %i
// CHECK-NOT: memref.load %x
// CHECK: scf.if %is_behind
// CHECK: memref.load %x
// CHECK: } else {
// CHECK: scf.yield %nothing
// CHECK-NOT: arith.select
func.func @f(%x: memref<9xf32>, %out: memref<9xf32>) attributes {names = "x,out"} {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %nine = arith.constant 9 : i32
  %nothing = arith.constant 0.0 : f32
  scf.for %i = %zero to %nine step %one : i32 {
    %at = arith.index_cast %i : i32 to index
    %is_behind = arith.cmpi sgt, %i, %zero : i32
    %before = arith.subi %i, %one : i32
    %b = arith.index_cast %before : i32 to index
    %element = memref.load %x[%b] : memref<9xf32>
    %chosen = arith.select %is_behind, %element, %nothing : f32
    memref.store %chosen, %out[%at] : memref<9xf32>
    scf.yield
  }
  func.return
}
