// In a loop that merges, too, the next iteration's first one is a first one.

// CHECK: "slc.merge"
// CHECK: "slc.set"(%{{.*}}) <{variable = "0_begun"}>
// CHECK: (!slc.stream<i32>, !slc.stream<i32>) -> ()
// CHECK-NEXT: "slc.callback"() ({
// CHECK-NEXT: arith.constant 0 : i32
// CHECK-NEXT: "slc.set"(%{{.*}}) <{variable = "0_begun"}>
builtin.module {
  func.func @f(%left: memref<4xi32>, %right: memref<4xi32>, %offsets: memref<5xi32>, %x: memref<8xf32>, %out: memref<3xf32>) attributes {names = "left,right,offsets,x,out"} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %four = arith.constant 4 : i32
    "slc.merge"(%left, %right, %zero, %zero, %four, %four) <{kind = "conjunctive", operandSegmentSizes = array<i32: 2, 2, 2>}> ({
    ^bb0(%j: !slc.stream<i32>, %p: !slc.stream<i32>, %q: !slc.stream<i32>):
      %lower = "slc.mem_str"(%offsets, %p) : (memref<5xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      %next = "slc.alu_str"(%p, %one) <{operation = "add"}> : (!slc.stream<i32>, i32) -> !slc.stream<i32>
      %upper = "slc.mem_str"(%offsets, %next) : (memref<5xi32>, !slc.stream<i32>) -> !slc.stream<i32>
      "slc.for"(%lower, %upper) <{step = 1 : i64}> ({
      ^bb0(%k: !slc.stream<i32>):
        "slc.for"(%zero, %one) <{step = 1 : i64}> ({
        ^bb0(%e: !slc.stream<i32>):
          %word = "slc.mem_str"(%x, %k) : (memref<8xf32>, !slc.stream<i32>) -> !slc.stream<f32>
          "slc.callback"(%k, %lower, %word) ({
          ^bb0(%i: i32, %first: i32, %element: f32):
            %is = arith.cmpi eq, %i, %first : i32
            %get = "slc.get"() <{variable = "most"}> : () -> f32
            %max = arith.maximumf %get, %element : f32
            %chosen = arith.select %is, %element, %max : f32
            "slc.set"(%chosen) <{variable = "most"}> : (f32) -> ()
          }) : (!slc.stream<i32>, !slc.stream<i32>, !slc.stream<f32>) -> ()
        }) : (i32, i32) -> ()
      }) : (!slc.stream<i32>, !slc.stream<i32>) -> ()
    }) : (memref<4xi32>, memref<4xi32>, i32, i32, i32, i32) -> ()
    func.return
  }
}
