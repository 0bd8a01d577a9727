// What is done once an element is not done once a vector.

// CHECK-NOT: vector
func.func @f(%x: memref<3x8xf32>, %out: memref<3x8xf32>) attributes {names = "x,out"} {
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  %end = arith.constant 8 : i32
  "slc.for"(%zero, %three) <{step = 1 : i64}> ({
  ^bb0(%i: !slc.stream<i32>):
    "slc.for"(%zero, %end) <{step = 1 : i64}> ({
    ^bb0(%e: !slc.stream<i32>):
      %value = "slc.mem_str"(%x, %i, %e) : (memref<3x8xf32>, !slc.stream<i32>, !slc.stream<i32>) -> !slc.stream<f32>
      "slc.callback"(%i, %e, %value) ({
      ^bb0(%row: i32, %column: i32, %element: f32):
        %r = arith.index_cast %row : i32 to index
        %c = arith.index_cast %column : i32 to index
        %square = arith.mulf %element, %element : f32
        memref.store %square, %out[%r, %c] : memref<3x8xf32>
        %count = "slc.get"() <{variable = "count"}> : () -> i32
        %one = arith.constant 1 : i32
        %more = arith.addi %count, %one : i32
        "slc.set"(%more) <{variable = "count"}> : (i32) -> ()
      }) : (!slc.stream<i32>, !slc.stream<i32>, !slc.stream<f32>) -> ()
    }) : (i32, i32) -> ()
  }) : (i32, i32) -> ()
  func.return
}
