// The row that all iterations of the loop around read is loaded before that loop, and kept: it is
// queued no longer. Its end is no whole vector.

// CHECK: ^bb0(%v: !slc.stream<i32>):
// CHECK: "slc.callback"() ({
// CHECK: %[[V:.*]] = "slc.get"() <{variable = "counter_0"}> : () -> i32
// CHECK-NEXT: "slc.set"(%[[V]]) <{variable = "x_kept_at_0"}>
// CHECK: %[[FIRST:.*]] = vector.load %x[
// CHECK-NEXT: "slc.set"(%[[FIRST]]) <{variable = "x_kept_0"}>
// CHECK: %[[LAST:.*]] = vector.maskedload %x[
// CHECK-NEXT: "slc.set"(%[[LAST]]) <{variable = "x_kept_1"}>
// CHECK-NEXT: }) : () -> ()
// CHECK: ^bb0(%p: !slc.stream<i32>):
// CHECK-NOT: %x
// CHECK: "slc.push"
// CHECK-NOT: "slc.push"
// CHECK: "slc.callback"() ({
// CHECK: %[[X:.*]] = "slc.get"() <{variable = "x_kept_0"}>
// CHECK-NEXT: %[[Y:.*]] = "slc.pop"()
// CHECK-NEXT: arith.mulf %[[X]], %[[Y]]
// CHECK: %[[X1:.*]] = "slc.get"() <{variable = "x_kept_1"}>
// CHECK-NEXT: %[[Y1:.*]] = "slc.pop"()
// CHECK-NEXT: arith.mulf %[[X1]], %[[Y1]]
// CHECK-NOT: %x
builtin.module {
  func.func @f(%n: memref<4xi32>, %x: memref<3x6xf32>, %y: memref<9x6xf32>, %out: memref<9x4xf32>) attributes {names = "n,x,y,out"} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %six = arith.constant 6 : i32
    "slc.for"(%zero, %three) <{step = 1 : i64}> ({
    ^bb0(%v: !slc.stream<i32>):
      %first = "slc.mem_str"(%n, %v) : (memref<4xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      %next = "slc.alu_str"(%v, %one) <{operation = "add"}> : (!slc.stream<i32>, i32) -> !slc.stream<i32>
      %last = "slc.mem_str"(%n, %next) : (memref<4xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.for"(%first, %last) <{step = 1 : i64}> ({
      ^bb0(%p: !slc.stream<i32>):
        "slc.for"(%zero, %six) <{step = 1 : i64, vector = 4 : i64}> ({
        ^bb0(%e: !slc.stream<vector<4xi32>>):
          %0 = "slc.mem_str"(%x, %v, %e) : (memref<3x6xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
          %1 = "slc.mem_str"(%y, %p, %e) : (memref<9x6xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
          "slc.push"(%0) : (!slc.stream<vector<4xf32>>) -> ()
          "slc.push"(%1) : (!slc.stream<vector<4xf32>>) -> ()
        }) : (i32, i32) -> ()
        "slc.callback"() ({
          %2 = arith.constant 0 : i32
          %3 = arith.constant 8 : i32
          %4 = arith.constant 4 : i32
          scf.for %5 = %2 to %3 step %4 : i32 {
            %6 = "slc.pop"() : () -> vector<4xf32>
            %7 = "slc.pop"() : () -> vector<4xf32>
            %8 = arith.mulf %6, %7 : vector<4xf32>
            %9 = arith.index_cast %2 : i32 to index
            vector.store %8, %out[%9, %9] : memref<9x4xf32>, vector<4xf32>
          }
        }) : () -> ()
      }) : (!slc.stream<i32>, !slc.stream<i32>) -> ()
      "slc.callback"() ({
        %10 = "slc.get"() <{variable = "counter_0"}> : () -> i32
        %11 = arith.constant 1 : i32
        %12 = arith.addi %10, %11 : i32
        "slc.set"(%12) <{variable = "counter_0"}> : (i32) -> ()
      }) : () -> ()
    }) {counter = "counter_0"} : (i32, i32) -> ()
    func.return
  }
}
