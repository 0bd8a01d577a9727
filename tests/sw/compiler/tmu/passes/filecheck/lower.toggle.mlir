// The row of a toggle's stream, and its token, before all of the iteration.

// CHECK: toggle = #builtin.int<1>
// CHECK-SAME: events = {toggle = [{kind = "vector", stream = #builtin.int<1>}, {kind = "token", token = "case_0"}]
// CHECK-SAME: iteration = [{kind = "vector", stream = #builtin.int<2>}
// CHECK: "dlc.case"() <{token = "case_0"}> ({
// CHECK-NEXT: = "slc.pop"() : () -> vector<4xi32>
// CHECK-NEXT: = vector.extract
builtin.module {
  func.func @f(%row: memref<5xi32>, %x: memref<5xi32>) attributes {names = "row,x"} {
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    "slc.for"(%zero, %five) <{step = 1 : i64}> ({
    ^bb0(%p: !slc.stream<i32>):
      %r = "slc.mem_str"(%row, %p) : (memref<5xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.toggle"(%r) <{aligned}> ({
      ^bb1(%words: vector<4xi32>):
        %first = vector.extract %words[0] : i32 from vector<4xi32>
        "slc.set"(%first) <{variable = "a"}> : (i32) -> ()
      }) : (!slc.stream<i32>) -> ()
      %s = "slc.mem_str"(%x, %p) : (memref<5xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.push"(%s) <{aligned}> : (!slc.stream<i32>) -> ()
      "slc.callback"() ({
        %more = "slc.pop"() : () -> vector<4xi32>
        %word = vector.extract %more[0] : i32 from vector<4xi32>
        "slc.set"(%word) <{variable = "b"}> : (i32) -> ()
      }) : () -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
