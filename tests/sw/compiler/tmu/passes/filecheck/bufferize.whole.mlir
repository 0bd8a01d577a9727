// Of whole vectors alone, under no mask, one loop in the callback, and no mask.

// CHECK: "slc.push"({{.*}}) : (!slc.stream<vector<4xf32>>)
// CHECK: "slc.callback"() ({
// CHECK-NOT: mask
// CHECK: scf.for
// CHECK-NOT: mask
// CHECK: "slc.pop"() : () -> vector<4xf32>
// CHECK-NOT: mask
// CHECK: vector.store {{.*}} %out
// CHECK-NOT: mask
builtin.module {
  func.func @f(%x: memref<3x8xf32>, %out: memref<3x8xf32>) attributes {names = "x,out"} {
    %zero = arith.constant 0 : i32
    %three = arith.constant 3 : i32
    %end = arith.constant 8 : i32
    "slc.for"(%zero, %three) <{step = 1 : i64}> ({
    ^bb0(%i: !slc.stream<i32>):
      "slc.for"(%zero, %end) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        %0 = "slc.mem_str"(%x, %i, %e) : (memref<3x8xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
        "slc.callback"(%i, %e, %0) ({
        ^bb0(%row: i32, %column: i32, %element: vector<4xf32>):
          %r = arith.index_cast %row : i32 to index
          %c = arith.index_cast %column : i32 to index
          %1 = arith.mulf %element, %element : vector<4xf32>
          vector.store %1, %out[%r, %c] : memref<3x8xf32>, vector<4xf32>
        }) : (!slc.stream<i32>, !slc.stream<vector<4xi32>>, !slc.stream<vector<4xf32>>) -> ()
      }) : (i32, i32) -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
