// Lanes beyond the end are masked.

// CHECK: "slc.callback"({{.*}}) <{masked}>
// CHECK: ^bb0(%row: i32, %column: i32, %element: vector<4xf32>, %[[MASK:.*]]: vector<4xi1>):
// CHECK: vector.maskedstore %out[{{.*}}], %[[MASK]],
func.func @f(%x: memref<3x6xf32>, %out: memref<3x6xf32>) attributes {names = "x,out"} {
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  %end = arith.constant 6 : i32
  "slc.for"(%zero, %three) <{step = 1 : i64}> ({
  ^bb0(%i: !slc.stream<i32>):
    "slc.for"(%zero, %end) <{step = 1 : i64}> ({
    ^bb0(%e: !slc.stream<i32>):
      %value = "slc.mem_str"(%x, %i, %e) : (memref<3x6xf32>, !slc.stream<i32>, !slc.stream<i32>) -> !slc.stream<f32>
      "slc.callback"(%i, %e, %value) ({
      ^bb0(%row: i32, %column: i32, %element: f32):
        %r = arith.index_cast %row : i32 to index
        %c = arith.index_cast %column : i32 to index
        %square = arith.mulf %element, %element : f32
        memref.store %square, %out[%r, %c] : memref<3x6xf32>
      }) : (!slc.stream<i32>, !slc.stream<i32>, !slc.stream<f32>) -> ()
    }) : (i32, i32) -> ()
  }) : (i32, i32) -> ()
  func.return
}
