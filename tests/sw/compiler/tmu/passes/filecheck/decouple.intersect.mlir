// Fibers whose bounds are streams merge in the access unit; each has streams of its own.

// CHECK: "slc.for"
// CHECK: %[[LOWER:.*]] = "slc.mem_str"(%offsets, %i)
// CHECK: %[[UPPER:.*]] = "slc.mem_str"(%offsets, %{{.*}})
// CHECK: "slc.merge"(%left, %right, %[[LOWER]], %{{.*}}, %[[UPPER]], %{{.*}}) <{kind = "conjunctive"
// CHECK: ^bb0(%k: !slc.stream<i32>, %p: !slc.stream<i32>, %q: !slc.stream<i32>):
// CHECK: %[[VALUE:.*]] = "slc.mem_str"(%values, %p)
// CHECK: "slc.callback"(%[[VALUE]], %k)
// CHECK: memref.store
// CHECK-NOT: fiber.merge
func.func @f(%offsets: memref<5xi32>, %left: memref<9xi32>, %right: memref<7xi32>, %values: memref<9xf32>, %out: memref<16xf32>) attributes {names = "offsets,left,right,values,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant 4 : i32
  %seven = arith.constant 7 : i32
  scf.for %i = %zero to %four step %one : i32 {
    %at = arith.index_cast %i : i32 to index
    %lower = memref.load %offsets[%at] : memref<5xi32>
    %next = arith.addi %i, %one : i32
    %behind = arith.index_cast %next : i32 to index
    %upper = memref.load %offsets[%behind] : memref<5xi32>
    "fiber.merge"(%left, %right, %lower, %zero, %upper, %seven) <{kind = "intersect", operandSegmentSizes = array<i32: 2, 2, 2>}> ({
    ^bb0(%k: i32, %p: i32, %q: i32):
      %place = arith.index_cast %p : i32 to index
      %value = memref.load %values[%place] : memref<9xf32>
      %result = arith.index_cast %k : i32 to index
      memref.store %value, %out[%result] : memref<16xf32>
    }) : (memref<9xi32>, memref<7xi32>, i32, i32, i32, i32) -> ()
  }
  func.return
}
