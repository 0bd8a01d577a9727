// Vectors are added up in four sums, which are added by halves; the variable is not needed.

// CHECK: partial_sums = 4 : i64
// CHECK: "slc.callback"() ({
// CHECK-NOT: by_lanes
// CHECK: %[[A:.*]] = arith.addf %[[ZERO:.*]], %
// CHECK: %[[B:.*]] = arith.addf %[[ZERO]], %
// CHECK: %[[C:.*]] = arith.addf %[[ZERO]], %
// CHECK: %[[D:.*]] = arith.addf %[[ZERO]], %
// CHECK: %[[A1:.*]] = arith.addf %[[A]], %
// CHECK: %[[AC:.*]] = arith.addf %[[A1]], %[[C]]
// CHECK-NEXT: %[[BD:.*]] = arith.addf %[[B]], %[[D]]
// CHECK-NEXT: %[[ALL:.*]] = arith.addf %[[AC]], %[[BD]]
// CHECK-NEXT: vector.reduction <add>, %[[ALL]]
// CHECK-NOT: by_lanes
builtin.module {
  func.func @f(%x: memref<9x20xf32>) attributes {names = "x"} {
    %zero = arith.constant 0 : i32
    %nine = arith.constant 9 : i32
    %twenty = arith.constant 20 : i32
    "slc.for"(%zero, %nine) <{step = 1 : i64}> ({
    ^bb0(%p: !slc.stream<i32>):
      "slc.for"(%zero, %twenty) <{step = 1 : i64, vector = 4 : i64}> ({
      ^bb0(%e: !slc.stream<vector<4xi32>>):
        %0 = "slc.mem_str"(%x, %p, %e) : (memref<9x20xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
        "slc.push"(%0) : (!slc.stream<vector<4xf32>>) -> ()
      }) {statement = 2 : i64, sums_by_lanes} : (i32, i32) -> ()
      "slc.callback"() ({
        %1 = arith.constant 0 : i32
        %2 = arith.constant 20 : i32
        %3 = arith.constant 4 : i32
        scf.for %4 = %1 to %2 step %3 : i32 {
          %5 = "slc.pop"() : () -> vector<4xf32>
          %6 = "slc.get"() <{variable = "total_by_lanes"}> : () -> vector<4xf32>
          %7 = arith.addf %6, %5 : vector<4xf32>
          "slc.set"(%7) <{variable = "total_by_lanes"}> : (vector<4xf32>) -> ()
        }
        %8 = arith.constant dense<0.0> : vector<4xf32>
        %9 = "slc.get"() <{variable = "total_by_lanes"}> : () -> vector<4xf32>
        %10 = vector.reduction <add>, %9 : vector<4xf32> into f32
        "slc.set"(%10) <{variable = "total"}> : (f32) -> ()
        "slc.set"(%8) <{variable = "total_by_lanes"}> : (vector<4xf32>) -> ()
      }) : () -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
