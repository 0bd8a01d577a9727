// Rows that are stored as they are: by the access unit, with the lanes in use; at an index that is
// computed, too. Sums stay with the execute unit, which takes no more than it needs for them.

// CHECK: "slc.for"
// CHECK: "slc.for"
// CHECK: %[[ELEMENT:.*]] = "slc.mem_str"
// CHECK: %[[NEXT:.*]] = "slc.alu_str"({{.*}}) <{operation = "add"}>
// CHECK-NEXT: "slc.store_str"(%[[ELEMENT]], %out, %[[NEXT]], %e)
// CHECK-NEXT: "slc.callback"(%e, %[[ELEMENT]]) <{masked}> ({
// CHECK-NOT: %out
// CHECK: vector.maskedstore %sum
// CHECK-NOT: slc.store_str
builtin.module {
  func.func @f(%x: memref<3x6xf32>, %out: memref<4x6xf32>, %sum: memref<6xf32>) attributes {names = "x,out,sum"} {
    %zero = arith.constant 0 : i32
    %three = arith.constant 3 : i32
    %end = arith.constant 6 : i32
    "slc.for"(%zero, %three) <{step = 1 : i64}> ({
    ^bb0(%i: !slc.stream<i32>):
      "slc.for"(%zero, %end) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        %0 = "slc.mem_str"(%x, %i, %e) : (memref<3x6xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
        "slc.callback"(%i, %e, %0) <{masked}> ({
        ^bb0(%row: i32, %column: i32, %element: vector<4xf32>, %mask: vector<4xi1>):
          %one = arith.constant 1 : i32
          %next = arith.addi %row, %one : i32
          %r = arith.index_cast %next : i32 to index
          %c = arith.index_cast %column : i32 to index
          %rest = arith.constant dense<0.0> : vector<4xf32>
          vector.maskedstore %out[%r, %c], %mask, %element : memref<4x6xf32>, vector<4xi1>, vector<4xf32>
          %before = vector.maskedload %sum[%c], %mask, %rest : memref<6xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
          %after = arith.addf %before, %element : vector<4xf32>
          vector.maskedstore %sum[%c], %mask, %after : memref<6xf32>, vector<4xi1>, vector<4xf32>
        }) : (!slc.stream<i32>, !slc.stream<vector<4xi32>>, !slc.stream<vector<4xf32>>) -> ()
      }) : (i32, i32) -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
