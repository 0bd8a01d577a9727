// A loop over a fiber: bounds, indices and what they find are streams; the result is a callback's.

// CHECK: %[[LOWER:.*]] = "slc.mem_str"(%offsets, %i)
// CHECK: %[[NEXT:.*]] = "slc.alu_str"(%i, %{{.*}}) <{operation = "add"}>
// CHECK: %[[UPPER:.*]] = "slc.mem_str"(%offsets, %[[NEXT]])
// CHECK: "slc.for"(%[[LOWER]], %[[UPPER]]) <{step = 1 : i64}>
// CHECK: ^bb0(%p: !slc.stream<i32>):
// CHECK: %[[VALUE:.*]] = "slc.mem_str"(%values, %p)
// CHECK: "slc.callback"(%i, %[[VALUE]])
// CHECK: memref.load %out
// CHECK: arith.addf
// CHECK: memref.store
// CHECK-NOT: scf.for
func.func @f(%offsets: memref<5xi32>, %values: memref<9xf32>, %out: memref<4xf32>) attributes {names = "offsets,values,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant 4 : i32
  scf.for %i = %zero to %four step %one : i32 {
    %at = arith.index_cast %i : i32 to index
    %lower = memref.load %offsets[%at] : memref<5xi32>
    %next = arith.addi %i, %one : i32
    %behind = arith.index_cast %next : i32 to index
    %upper = memref.load %offsets[%behind] : memref<5xi32>
    scf.for %p = %lower to %upper step %one : i32 {
      %place = arith.index_cast %p : i32 to index
      %value = memref.load %values[%place] : memref<9xf32>
      %old = memref.load %out[%at] : memref<4xf32>
      %new = arith.addf %old, %value : f32
      memref.store %new, %out[%at] : memref<4xf32>
    }
  }
  func.return
}
