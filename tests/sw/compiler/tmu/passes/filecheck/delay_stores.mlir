// The product is stored in the next callback, or behind all; the first one stores a word as it was.
// The key, which is there at once, is stored at once.

// CHECK: "slc.callback"() ({
// CHECK-NEXT: %[[OLD:.*]] = "flat.load"() <{array = "out", offset = 0 : i64
// CHECK-NEXT: "slc.set"(%[[OLD]]) <{variable = "late_out"}>
// CHECK: "slc.merge"
// CHECK: ^bb0(%key: i32, %left: f32, %right: f32):
// CHECK-NEXT: %[[LATE:.*]] = "slc.get"() <{variable = "late_out"}>
// CHECK-NEXT: %[[PLACE:.*]] = "slc.get"() <{variable = "place_out"}>
// CHECK-NEXT: "flat.store"(%[[PLACE]], %[[LATE]]) <{array = "out", offset = 0 : i64
// CHECK: memref.store %key, %keys
// CHECK-NEXT: %product = arith.mulf
// CHECK-NEXT: "slc.set"(%product) <{variable = "late_out"}>
// CHECK-NEXT: "slc.set"(%n) <{variable = "place_out"}>
// CHECK: "slc.set"(%next) <{variable = "n"}>
// CHECK: "slc.callback"() ({
// CHECK-NEXT: %[[LAST:.*]] = "slc.get"() <{variable = "late_out"}>
// CHECK-NEXT: %[[END:.*]] = "slc.get"() <{variable = "place_out"}>
// CHECK-NEXT: "flat.store"(%[[END]], %[[LAST]]) <{array = "out", offset = 0 : i64
builtin.module {
  func.func @f(%b: memref<5xi32>, %c: memref<6xi32>, %x: memref<5xf32>, %y: memref<6xf32>, %keys: memref<5xi32>, %out: memref<5xf32>) attributes {names = "b,c,x,y,keys,out"} {
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    %six = arith.constant 6 : i32
    "slc.merge"(%b, %c, %zero, %zero, %five, %six) <{kind = "conjunctive", operandSegmentSizes = array<i32: 2, 2, 2>}> ({
    ^bb0(%k: !slc.stream<i32>, %p: !slc.stream<i32>, %q: !slc.stream<i32>):
      %0 = "slc.mem_str"(%x, %p) : (memref<5xf32>, !slc.stream<i32>) -> !slc.stream<f32>
      %1 = "slc.mem_str"(%y, %q) : (memref<6xf32>, !slc.stream<i32>) -> !slc.stream<f32>
      "slc.callback"(%k, %0, %1) ({
      ^bb1(%key: i32, %left: f32, %right: f32):
        %n = "slc.get"() <{variable = "n"}> : () -> i32
        %at = arith.index_cast %n : i32 to index
        memref.store %key, %keys[%at] : memref<5xi32>
        %product = arith.mulf %left, %right : f32
        memref.store %product, %out[%at] : memref<5xf32>
        %one = arith.constant 1 : i32
        %next = arith.addi %n, %one : i32
        "slc.set"(%next) <{variable = "n"}> : (i32) -> ()
      }) : (!slc.stream<i32>, !slc.stream<f32>, !slc.stream<f32>) -> ()
    }) : (memref<5xi32>, memref<6xi32>, i32, i32, i32, i32) -> ()
    func.return
  }
}
