// What a loop around another one computes is stored at once: the inner one's iterations are time.

// CHECK-NOT: slc.set
// CHECK: memref.store %product, %out
// CHECK-NOT: slc.set
builtin.module {
  func.func @f(%x: memref<5xf32>, %y: memref<5x6xi32>, %out: memref<5xf32>, %last: memref<6xi32>) attributes {names = "x,y,out,last"} {
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    %six = arith.constant 6 : i32
    "slc.for"(%zero, %five) <{step = 1 : i64}> ({
    ^bb0(%i: !slc.stream<i32>):
      %0 = "slc.mem_str"(%x, %i) : (memref<5xf32>, !slc.stream<i32>) -> !slc.stream<f32>
      "slc.callback"(%i, %0) ({
      ^bb1(%row: i32, %element: f32):
        %r = arith.index_cast %row : i32 to index
        %product = arith.mulf %element, %element : f32
        memref.store %product, %out[%r] : memref<5xf32>
      }) : (!slc.stream<i32>, !slc.stream<f32>) -> ()
      "slc.for"(%zero, %six) <{step = 1 : i64}> ({
      ^bb2(%j: !slc.stream<i32>):
        %1 = "slc.mem_str"(%y, %i, %j) : (memref<5x6xi32>, !slc.stream<i32>, !slc.stream<i32>) -> !slc.stream<i32>
        "slc.callback"(%j, %1) ({
        ^bb3(%column: i32, %number: i32):
          %c = arith.index_cast %column : i32 to index
          memref.store %number, %last[%c] : memref<6xi32>
        }) : (!slc.stream<i32>, !slc.stream<i32>) -> ()
      }) : (i32, i32) -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
