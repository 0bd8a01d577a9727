// Integer arithmetic leaves both loops; a load of what nothing writes the one that is sure to run.
// What the loop stores to is loaded inside of it, and floating point stays.

// CHECK: %at = arith.index_cast %one
// CHECK-NEXT: %scale = memref.load %x[%at]
// CHECK-NEXT: %next = arith.addi %one, %one
// CHECK-NEXT: scf.for %a
// CHECK: %lower = memref.load %o
// CHECK-NEXT: %first = arith.muli %a, %next
// CHECK-NEXT: scf.for %b
// CHECK-NEXT: memref.load %x[%at]
// CHECK-NEXT: memref.load %out[%at]
// CHECK-NEXT: arith.mulf %scale, %scale
// CHECK: arith.addi %first, %b
func.func @f(%x: memref<9xf32>, %o: memref<4xi32>, %out: memref<99xf32>) attributes {names = "x,o,out"} {
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  scf.for %a = %one to %three step %one : i32 {
    %at = arith.index_cast %one : i32 to index
    %scale = memref.load %x[%at] : memref<9xf32>
    %row = arith.index_cast %a : i32 to index
    %lower = memref.load %o[%row] : memref<4xi32>
    scf.for %b = %lower to %three step %one : i32 {
      %next = arith.addi %one, %one : i32
      %first = arith.muli %a, %next : i32
      %maybe = memref.load %x[%at] : memref<9xf32>
      %old = memref.load %out[%at] : memref<99xf32>
      %square = arith.mulf %scale, %scale : f32
      %0 = arith.addf %maybe, %old : f32
      %sum = arith.addf %0, %square : f32
      %place = arith.addi %first, %b : i32
      %word = arith.index_cast %place : i32 to index
      memref.store %sum, %out[%word] : memref<99xf32>
      scf.yield
    }
    scf.yield
  }
  func.return
}
