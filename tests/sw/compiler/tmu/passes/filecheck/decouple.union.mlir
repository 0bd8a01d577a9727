// Which fibers have the coordinate is the mask: both if it is 3, the first if its bit 0 is 1.

// CHECK: "slc.merge"(%left, %right, {{.*}}) <{kind = "disjunctive"
// CHECK: ^bb0(%k: !slc.stream<i32>, %{{.*}}: !slc.stream<i32>, %{{.*}}: !slc.stream<i32>, %mask: !slc.stream<i32>):
// CHECK: "slc.mem_str"(%values, %p)
// CHECK: "slc.callback"(%mask, %{{.*}}, %k)
// CHECK: ^bb0(%[[MASK:.*]]: i32, %value: f32, %{{.*}}: i32):
// CHECK-DAG: arith.cmpi sgt, %[[MASK]], %{{.*}} : i32
// CHECK-DAG: arith.trunci %[[MASK]] : i32 to i1
// CHECK: arith.select
// CHECK: memref.store
func.func @f(%left: memref<9xi32>, %right: memref<7xi32>, %values: memref<9xf32>, %out: memref<16xf32>) attributes {names = "left,right,values,out"} {
  %zero = arith.constant 0 : i32
  %nine = arith.constant 9 : i32
  %seven = arith.constant 7 : i32
  "fiber.merge"(%left, %right, %zero, %zero, %nine, %seven) <{kind = "union", operandSegmentSizes = array<i32: 2, 2, 2>}> ({
  ^bb0(%k: i32, %p: i32, %q: i32, %has_p: i1, %has_q: i1):
    %place = arith.index_cast %p : i32 to index
    %value = memref.load %values[%place] : memref<9xf32>
    %half = arith.constant 5.000000e-01 : f32
    %both = arith.andi %has_p, %has_q : i1
    %less = arith.select %both, %half, %value : f32
    %one = arith.constant 1.000000e+00 : f32
    %found = arith.select %has_p, %less, %one : f32
    %result = arith.index_cast %k : i32 to index
    memref.store %found, %out[%result] : memref<16xf32>
  }) : (memref<9xi32>, memref<7xi32>, i32, i32, i32, i32) -> ()
  func.return
}
