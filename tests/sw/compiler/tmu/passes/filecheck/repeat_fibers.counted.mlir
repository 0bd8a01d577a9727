// The fiber is of the row that a variable counts, up to where it is set: before that, what is loaded
// is queued again.

// CHECK: "slc.for"
// CHECK: %[[TWO:.*]] = arith.constant 2 : i32
// CHECK-NEXT: "slc.for"(%{{.*}}, %[[TWO]]) <{step = 1 : i64}> ({
// CHECK: "slc.push"
// CHECK-NOT: "slc.push"
// CHECK: "slc.callback"() ({
// CHECK: %[[SEEN:.*]] = "slc.pop"()
// CHECK: "slc.set"(%[[SEEN]]) <{variable = "seen"}>
// CHECK: %[[AGAIN:.*]] = "slc.pop"()
// CHECK-NEXT: "slc.set"(%[[AGAIN]]) <{variable = "seen"}>
// CHECK: "slc.set"(%{{.*}}) <{variable = "0_counter"}>
builtin.module {
  func.func @f(%x: memref<5x4xf32>) attributes {names = "x"} {
    %zero = arith.constant 0 : i32
    %four = arith.constant 4 : i32
    %five = arith.constant 5 : i32
    "slc.for"(%zero, %five) <{step = 1 : i64}> ({
    ^bb0(%p: !slc.stream<i32>):
      "slc.for"(%zero, %four) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        %0 = "slc.mem_str"(%x, %p, %e) : (memref<5x4xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
        "slc.push"(%0) : (!slc.stream<vector<4xf32>>) -> ()
      }) : (i32, i32) -> ()
      "slc.callback"() ({
        %1 = "slc.pop"() : () -> vector<4xf32>
        "slc.set"(%1) <{variable = "seen"}> : (vector<4xf32>) -> ()
        %2 = "slc.get"() <{variable = "0_counter"}> : () -> i32
        %3 = arith.index_cast %2 : i32 to index
        %4 = arith.constant 0 : index
        %5 = vector.load %x[%3, %4] : memref<5x4xf32>, vector<4xf32>
        "slc.set"(%5) <{variable = "seen"}> : (vector<4xf32>) -> ()
        %6 = arith.constant 1 : i32
        %7 = arith.addi %2, %6 : i32
        "slc.set"(%7) <{variable = "0_counter"}> : (i32) -> ()
      }) : () -> ()
    }) {counter = "0_counter"} : (i32, i32) -> ()
    func.return
  }
}
