// What is loaded from behind the last element is loaded only where it is chosen; what is inside of
// the array in every iteration is loaded in any case.

// CHECK: scf.for %i
// CHECK: memref.load %x
// CHECK-NOT: memref.load %x
// CHECK: scf.if %is_before
// CHECK: memref.load %x
// CHECK: } else {
// CHECK: scf.yield %own
// CHECK-NOT: scf.if
// CHECK: arith.select %is_before, %own, %nothing
func.func @f(%x: memref<9xf32>, %out: memref<9xf32>) attributes {names = "x,out"} {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  %nine = arith.constant 9 : i32
  %nothing = arith.constant 0.0 : f32
  scf.for %i = %zero to %nine step %one : i32 {
    %at = arith.index_cast %i : i32 to index
    %own = memref.load %x[%at] : memref<9xf32>
    %is_before = arith.cmpi slt, %i, %eight : i32
    %behind = arith.addi %i, %one : i32
    %b = arith.index_cast %behind : i32 to index
    %element = memref.load %x[%b] : memref<9xf32>
    %chosen = arith.select %is_before, %element, %own : f32
    memref.store %chosen, %out[%at] : memref<9xf32>
    %inside = arith.select %is_before, %own, %nothing : f32
    memref.store %inside, %out[%at] : memref<9xf32>
    scf.yield
  }
  func.return
}
