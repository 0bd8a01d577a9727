// Both halves of a loop that adds up are gone through at once, with sums of their own.

// CHECK: %[[MIDDLE:.*]] = arith.constant 8 : i32
// CHECK-NEXT: "slc.for"({{.*}}, %[[MIDDLE]]) <{step = 1 : i64, vector = 4 : i64}>
// CHECK: %[[LATER:.*]] = "slc.alu_str"({{.*}}) <{operation = "add"}>
// CHECK: %[[FIRST:.*]] = "slc.mem_str"(%x,
// CHECK-NEXT: %[[SECOND:.*]] = "slc.mem_str"(%x, {{.*}}%[[LATER]])
// CHECK: "slc.callback"(%[[FIRST]], %[[SECOND]])
// CHECK: "slc.set"{{.*}} <{variable = "total_by_lanes"}>
// CHECK: "slc.set"{{.*}} <{variable = "total_of_second_half_by_lanes"}>
// CHECK: sums_of_halves
// CHECK: "slc.callback"() ({
// CHECK: %[[A:.*]] = "slc.get"() <{variable = "total_by_lanes"}>
// CHECK: %[[B:.*]] = "slc.get"() <{variable = "total_of_second_half_by_lanes"}>
// CHECK-NEXT: %[[BOTH:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: vector.reduction <add>, %[[BOTH]]
// CHECK: "slc.set"{{.*}} <{variable = "total_of_second_half_by_lanes"}>
builtin.module {
  func.func @f(%x: memref<3x16xf32>, %out: memref<3xf32>) attributes {names = "x,out"} {
    %zero = arith.constant 0 : i32
    %three = arith.constant 3 : i32
    "slc.for"(%zero, %three) <{step = 1 : i64}> ({
    ^bb0(%i: !slc.stream<i32>):
      %sixteen = arith.constant 16 : i32
      "slc.for"(%zero, %sixteen) <{step = 1 : i64}> ({
      ^bb1(%e: !slc.stream<i32>):
        %1 = "slc.mem_str"(%x, %i, %e) : (memref<3x16xf32>, !slc.stream<i32>, !slc.stream<i32>) -> !slc.stream<f32>
        "slc.callback"(%1) ({
        ^bb2(%2: f32):
          %3 = "slc.get"() <{variable = "total"}> : () -> f32
          %4 = arith.addf %3, %2 : f32
          "slc.set"(%4) <{variable = "total"}> : (f32) -> ()
        }) : (!slc.stream<f32>) -> ()
      }) {statement = 1 : i64} : (i32, i32) -> ()
    }) : (i32, i32) -> ()
    func.return
  }
}
