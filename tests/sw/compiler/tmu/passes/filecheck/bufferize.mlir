// One callback behind the loop takes whole vectors, then what is left, under a mask; the row is
// queued once.

// CHECK: "slc.push"(%i)
// CHECK: "slc.for"{{.*}}vector = 4
// CHECK: "slc.push"({{.*}}) : (!slc.stream<vector<4xf32>>)
// CHECK: "slc.callback"() ({
// CHECK-NEXT: "slc.pop"() : () -> i32
// CHECK: scf.for
// CHECK: "slc.pop"() : () -> vector<4xf32>
// CHECK-NOT: masked
// CHECK: vector.store {{.*}} %out
// CHECK: %[[PART:.*]] = arith.constant 2 : index
// CHECK-NEXT: %[[MASK:.*]] = vector.create_mask %[[PART]]
// CHECK: scf.for
// CHECK: "slc.pop"() : () -> vector<4xf32>
// CHECK: vector.maskedstore {{.*}}, %[[MASK]],
builtin.module {
  func.func @f(%x: memref<3x6xf32>, %out: memref<3x6xf32>) attributes {names = "x,out"} {
    %zero = arith.constant 0 : i32
    %three = arith.constant 3 : i32
    %end = arith.constant 6 : i32
    "slc.for"(%zero, %three) <{step = 1 : i64}> ({
    ^bb0(%i: !slc.stream<i32>):
      "slc.for"(%zero, %end) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        %0 = "slc.mem_str"(%x, %i, %e) : (memref<3x6xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
        "slc.callback"(%i, %e, %0) <{masked}> ({
        ^bb0(%row: i32, %column: i32, %element: vector<4xf32>, %1: vector<4xi1>):
          %r = arith.index_cast %row : i32 to index
          %c = arith.index_cast %column : i32 to index
          %2 = arith.mulf %element, %element : vector<4xf32>
          vector.maskedstore %out[%r, %c], %1, %2 : memref<3x6xf32>, vector<4xi1>, vector<4xf32>
        }) : (!slc.stream<i32>, !slc.stream<vector<4xi32>>, !slc.stream<vector<4xf32>>) -> ()
      }) : (i32, i32) -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
