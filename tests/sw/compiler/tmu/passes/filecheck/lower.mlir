// A layer a loop, whose bounds are streams of the layer around; a callback is words and a token of
// an event, and a case that takes them. The last token comes behind the outermost loop.

// CHECK: "dlc.access"() ({
// CHECK: "dlc.layer"() <{mode = "single"
// CHECK-SAME: upper_immediate = #builtin.int<4>
// CHECK-SAME: base = #builtin.int<1>, length = #builtin.int<4>, array = "o"}
// CHECK-SAME: events = {end = [{kind = "token", token = "end"}]}
// CHECK: "dlc.layer"() <{mode = "lockstep"
// CHECK-SAME: lower = {source = "parent", stream = #builtin.int<1>}, upper = {source = "parent", stream = #builtin.int<2>}, ordered
// CHECK-SAME: kind = "memory", a = {source = "own"}
// CHECK-SAME: array = "x"
// CHECK-SAME: iteration = [{kind = "word"}, {kind = "vector", layer = #builtin.int<1>, stream = #builtin.int<1>}, {kind = "token", token = "case_0"}]
// CHECK: "dlc.case"() <{token = "start"}>
// CHECK: "dlc.case"() <{token = "case_0"}> ({
// CHECK-NEXT: %[[ROW:.*]] = "slc.pop"() : () -> i32
// CHECK-NEXT: %[[VALUES:.*]] = "slc.pop"() : () -> vector<4xf32>
// CHECK: vector.store %[[VALUES]], %out
// CHECK: "dlc.case"() <{token = "end"}>
// CHECK-NOT: "slc.for"
func.func @f(%o: memref<5xi32>, %x: memref<9xf32>, %out: memref<4x4xf32>) attributes {names = "o,x,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant 4 : i32
  "slc.for"(%zero, %four) <{step = 1 : i64}> ({
  ^bb0(%i: !slc.stream<i32>):
    %lower = "slc.mem_str"(%o, %i) : (memref<5xi32>, !slc.stream<i32>) -> !slc.stream<i32>
    %next = "slc.alu_str"(%i, %one) <{operation = "add"}> : (!slc.stream<i32>, i32) -> !slc.stream<i32>
    %upper = "slc.mem_str"(%o, %next) : (memref<5xi32>, !slc.stream<i32>) -> !slc.stream<i32>
    "slc.for"(%lower, %upper) <{step = 1 : i64, vector = 4 : i64}> ({
    ^bb1(%p: !slc.stream<vector<4xi32>>):
      %values = "slc.mem_str"(%x, %p) : (memref<9xf32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
      "slc.callback"(%i, %values) ({
      ^bb2(%row: i32, %some: vector<4xf32>):
        %at = arith.index_cast %row : i32 to index
        %k0 = arith.constant 0 : index
        vector.store %some, %out[%at, %k0] : memref<4x4xf32>, vector<4xf32>
      }) : (!slc.stream<i32>, !slc.stream<vector<4xf32>>) -> ()
    }) : (!slc.stream<i32>, !slc.stream<i32>) -> ()
  }) : (i32, i32) -> ()
  func.return
}
