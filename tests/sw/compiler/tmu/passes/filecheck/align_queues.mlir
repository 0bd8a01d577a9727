// A word between vectors takes a row: the first lane is what the callback wants. A loop's own
// induction is counted instead.

// CHECK-NOT: "slc.push"(%i)
// CHECK-NOT: "slc.push"(%row) :
// CHECK: "slc.push"(%row) <{aligned}>
// CHECK: "slc.push"({{.*}}) : (!slc.stream<vector<4xf32>>)
// CHECK: "slc.callback"() ({
// CHECK: "slc.get"() <{variable = "0_counter"}>
// CHECK: %[[ROW:.*]] = "slc.pop"() : () -> vector<4xi32>
// CHECK-NEXT: vector.extract %[[ROW]][0]
// CHECK-NOT: "slc.pop"() : () -> i32
builtin.module {
  func.func @f(%rows: memref<3xi32>, %x: memref<3x6xf32>, %out: memref<3x6xf32>) attributes {names = "rows,x,out"} {
    %zero = arith.constant 0 : i32
    %three = arith.constant 3 : i32
    %end = arith.constant 6 : i32
    "slc.for"(%zero, %three) <{step = 1 : i64}> ({
    ^bb0(%i: !slc.stream<i32>):
      %row = "slc.mem_str"(%rows, %i) : (memref<3xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.push"(%i) : (!slc.stream<i32>) -> ()
      "slc.push"(%row) : (!slc.stream<i32>) -> ()
      "slc.for"(%zero, %end) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        %0 = "slc.mem_str"(%x, %i, %e) : (memref<3x6xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
        "slc.push"(%0) : (!slc.stream<vector<4xf32>>) -> ()
      }) : (i32, i32) -> ()
      "slc.callback"() ({
        %n = "slc.pop"() : () -> i32
        %1 = "slc.pop"() : () -> i32
        %2 = arith.constant 4 : index
        %3 = vector.create_mask %2 : vector<4xi1>
        %4 = arith.constant 0 : i32
        %5 = arith.constant 4 : i32
        %6 = arith.constant 4 : i32
        scf.for %7 = %4 to %5 step %6 : i32 {
          %8 = "slc.pop"() : () -> vector<4xf32>
          %s = arith.addi %1, %n : i32
          %r = arith.index_cast %s : i32 to index
          %c = arith.index_cast %7 : i32 to index
          %9 = arith.mulf %8, %8 : vector<4xf32>
          vector.maskedstore %out[%r, %c], %3, %9 : memref<3x6xf32>, vector<4xi1>, vector<4xf32>
        }
        %10 = arith.constant 2 : index
        %11 = vector.create_mask %10 : vector<4xi1>
        %12 = arith.constant 4 : i32
        %13 = arith.constant 6 : i32
        %14 = arith.constant 4 : i32
        scf.for %15 = %12 to %13 step %14 : i32 {
          %16 = "slc.pop"() : () -> vector<4xf32>
          %r_1 = arith.index_cast %1 : i32 to index
          %c_1 = arith.index_cast %15 : i32 to index
          %17 = arith.mulf %16, %16 : vector<4xf32>
          vector.maskedstore %out[%r_1, %c_1], %11, %17 : memref<3x6xf32>, vector<4xi1>, vector<4xf32>
        }
      }) : () -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
