// Whether an iteration is the first is a variable; its induction variable is not queued.

// CHECK: "slc.for"(%lower, %upper)
// CHECK: "slc.callback"(%{{[0-9]+}}) ({
// CHECK: %[[BEGUN:.*]] = "slc.get"() <{variable = "0_begun"}> : () -> i32
// CHECK: %[[AGAIN:.*]] = arith.cmpi ne, %[[BEGUN]]
// CHECK: arith.select %[[AGAIN]], %{{.*}}, %x : vector<4xf32>
// CHECK: arith.constant 1 : i32
// CHECK-NEXT: "slc.set"(%{{.*}}) <{variable = "0_begun"}>
// CHECK: (!slc.stream<i32>, !slc.stream<i32>) -> ()
// CHECK-NEXT: "slc.callback"() ({
// CHECK-NEXT: arith.constant 0 : i32
// CHECK-NEXT: "slc.set"(%{{.*}}) <{variable = "0_begun"}>
builtin.module {
  func.func @f(%offsets: memref<4xi32>, %table: memref<9x4xf32>, %out: memref<3x4xf32>) attributes {names = "offsets,table,out"} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %four = arith.constant 4 : i32
    "slc.for"(%zero, %three) <{step = 1 : i64}> ({
    ^bb0(%b: !slc.stream<i32>):
      %lower = "slc.mem_str"(%offsets, %b) : (memref<4xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      %next = "slc.alu_str"(%b, %one) <{operation = "add"}> : (!slc.stream<i32>, i32) -> !slc.stream<i32>
      %upper = "slc.mem_str"(%offsets, %next) : (memref<4xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.for"(%lower, %upper) <{step = 1 : i64}> ({
      ^bb0(%p: !slc.stream<i32>):
        "slc.for"(%zero, %four) <{step = 1 : i64, vector = 4 : i64}> ({
        ^bb0(%e: !slc.stream<vector<4xi32>>):
          %7 = "slc.mem_str"(%table, %p, %e) : (memref<9x4xf32>, !slc.stream<i32>, !slc.stream<vector<4xi32>>) -> !slc.stream<vector<4xf32>>
          "slc.callback"(%p, %lower, %7) ({
          ^bb0(%i: i32, %first: i32, %x: vector<4xf32>):
            %is = arith.cmpi eq, %i, %first : i32
            %get = "slc.get"() <{variable = "most"}> : () -> vector<4xf32>
            %max = arith.maximumf %get, %x : vector<4xf32>
            %8 = arith.select %is, %x, %max : vector<4xf32>
            "slc.set"(%8) <{variable = "most"}> : (vector<4xf32>) -> ()
          }) : (!slc.stream<i32>, !slc.stream<i32>, !slc.stream<vector<4xf32>>) -> ()
        }) : (i32, i32) -> ()
      }) : (!slc.stream<i32>, !slc.stream<i32>) -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
