// The execute unit counts iterations itself: one callback, behind all that is queued.

// CHECK: "slc.for"
// CHECK: "slc.for"
// CHECK: "slc.push"
// CHECK-NOT: "slc.callback"
// CHECK: }) : (i32, i32) -> ()
// CHECK-NEXT: }) : (i32, i32) -> ()
// CHECK-NEXT: "slc.callback"() ({
// CHECK: %[[THREE:.*]] = arith.constant 3 : i32
// CHECK: scf.for {{.*}} to %[[THREE]]
// CHECK: "slc.set"{{.*}} <{variable = "before"}>
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : i32
// CHECK-NEXT: %[[FOUR:.*]] = arith.constant 4 : i32
// CHECK-NEXT: scf.for {{.*}} to %[[EIGHT]] step %[[FOUR]]
// CHECK: "slc.pop"
// CHECK: "slc.set"{{.*}} <{variable = "behind"}>
builtin.module {
  func.func @f(%x: memref<3x8xf32>) attributes {names = "x"} {
    %zero = arith.constant 0 : i32
    %three = arith.constant 3 : i32
    %eight = arith.constant 8 : i32
    "slc.for"(%zero, %three) <{step = 1 : i64}> ({
    ^bb0(%i: !slc.stream<i32>):
      "slc.callback"() ({
        %1 = arith.constant 1 : i32
        "slc.set"(%1) <{variable = "before"}> : (i32) -> ()
      }) : () -> ()
      "slc.for"(%zero, %eight) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        %2 = "slc.mem_str"(%x, %i, %e) : (memref<3x8xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
        "slc.push"(%2) : (!slc.stream<vector<4xf32>>) -> ()
        "slc.callback"() ({
          %3 = "slc.pop"() : () -> vector<4xf32>
          "slc.set"(%3) <{variable = "in"}> : (vector<4xf32>) -> ()
        }) : () -> ()
      }) : (i32, i32) -> ()
      "slc.callback"() ({
        %4 = arith.constant 2 : i32
        "slc.set"(%4) <{variable = "behind"}> : (i32) -> ()
      }) : () -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
