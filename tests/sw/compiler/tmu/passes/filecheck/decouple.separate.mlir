// An element at a loaded index is loaded in a loop of one iteration, of the index around it.

// CHECK: "slc.for"
// CHECK: %[[C:.*]] = "slc.mem_str"(%c,
// CHECK: "slc.for"(%{{.*}}, %{{.*}}) <{step = 1 : i64}>
// CHECK: "slc.mem_str"(%x, %[[C]])
// CHECK: "slc.callback"
// CHECK: memref.store
builtin.module {
  func.func @f(%x: memref<9xf32>, %c: memref<3xi32>, %y: memref<3xf32>) attributes {names = "x,c,y"} {
    %zero = arith.constant 0 : i32
    %three = arith.constant 3 : i32
    %one = arith.constant 1 : i32
    scf.for %p = %zero to %three step %one : i32 {
      %0 = arith.index_cast %p : i32 to index
      %1 = memref.load %c[%0] : memref<3xi32>
      %2 = arith.index_cast %1 : i32 to index
      %3 = memref.load %x[%2] : memref<9xf32>
      memref.store %3, %y[%0] : memref<3xf32>
    }
    func.return
  }
}
