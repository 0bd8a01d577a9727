// What is stored late is in the first lane of a vector: what was loaded, and products. A
// variable that is set to what a fiber gives stays a scalar.

// CHECK: %[[FIRST:.*]] = vector.create_mask %{{.*}} : vector<4xi1>
// CHECK-NEXT: %[[OLD:.*]] = "flat.load"(%[[FIRST]])
// CHECK-NEXT: "slc.set"(%[[OLD]]) <{variable = "late"}> : (vector<4xf32>) -> ()
// CHECK: %[[LATE:.*]] = "slc.get"() <{variable = "late"}> : () -> vector<4xf32>
// CHECK: %[[LANE:.*]] = vector.create_mask
// CHECK-NEXT: "flat.store"(%place, %[[LANE]], %[[LATE]])
// CHECK: %[[LEFT:.*]] = vector.broadcast %left : f32 to vector<4xf32>
// CHECK-NEXT: %[[RIGHT:.*]] = vector.broadcast %right : f32 to vector<4xf32>
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[LEFT]], %[[RIGHT]] : vector<4xf32>
// CHECK-NEXT: "slc.set"(%[[PRODUCT]]) <{variable = "late"}> : (vector<4xf32>) -> ()
// CHECK: "slc.set"(%left) <{variable = "other"}> : (f32) -> ()
builtin.module {
  func.func @f(%x: memref<5xf32>, %y: memref<5xf32>, %out: memref<5xf32>, %kept: memref<5xf32>) attributes {names = "x,y,out,kept"} {
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    "slc.callback"() ({
      %old = "flat.load"() <{array = "out", offset = 0 : i64, operandSegmentSizes = array<i32: 0, 0>}> : () -> f32
      "slc.set"(%old) <{variable = "late"}> : (f32) -> ()
    }) : () -> ()
    "slc.for"(%zero, %five) <{step = 1 : i64}> ({
    ^bb0(%i: !slc.stream<i32>):
      %0 = "slc.mem_str"(%x, %i) : (memref<5xf32>, !slc.stream<i32>) -> !slc.stream<f32>
      %1 = "slc.mem_str"(%y, %i) : (memref<5xf32>, !slc.stream<i32>) -> !slc.stream<f32>
      "slc.callback"(%0, %1) ({
      ^bb1(%left: f32, %right: f32):
        %late = "slc.get"() <{variable = "late"}> : () -> f32
        %other = "slc.get"() <{variable = "other"}> : () -> f32
        %place = "slc.get"() <{variable = "place"}> : () -> i32
        "flat.store"(%place, %late) <{array = "out", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i32, f32) -> ()
        "flat.store"(%place, %other) <{array = "kept", offset = 0 : i64, operandSegmentSizes = array<i32: 1, 0, 1>}> : (i32, f32) -> ()
        %product = arith.mulf %left, %right : f32
        "slc.set"(%product) <{variable = "late"}> : (f32) -> ()
        "slc.set"(%left) <{variable = "other"}> : (f32) -> ()
      }) : (!slc.stream<f32>, !slc.stream<f32>) -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
