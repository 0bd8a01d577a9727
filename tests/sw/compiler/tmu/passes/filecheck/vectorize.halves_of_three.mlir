// Both halves of three loads, and the induction variable, are seven of a unit's eight streams.

// CHECK: "slc.mem_str"(%x,
// CHECK: "slc.mem_str"(%x,
// CHECK: "slc.mem_str"(%y,
// CHECK: "slc.mem_str"(%y,
// CHECK: "slc.mem_str"(%z,
// CHECK: "slc.mem_str"(%z,
// CHECK: "slc.set"{{.*}} <{variable = "total_of_second_half_by_lanes"}>
builtin.module {
  func.func @f(%x: memref<16xf32>, %y: memref<16xf32>, %z: memref<16xf32>, %out: memref<3xf32>) attributes {names = "x,y,z,out"} {
    %zero = arith.constant 0 : i32
    %sixteen = arith.constant 16 : i32
    "slc.for"(%zero, %sixteen) <{step = 1 : i64}> ({
    ^bb0(%e: !slc.stream<i32>):
      %1 = "slc.mem_str"(%x, %e) : (memref<16xf32>, !slc.stream<i32>) -> !slc.stream<f32>
      %2 = "slc.mem_str"(%y, %e) : (memref<16xf32>, !slc.stream<i32>) -> !slc.stream<f32>
      %3 = "slc.mem_str"(%z, %e) : (memref<16xf32>, !slc.stream<i32>) -> !slc.stream<f32>
      "slc.callback"(%1, %2, %3) ({
      ^bb1(%a: f32, %b: f32, %c: f32):
        %4 = "slc.get"() <{variable = "total"}> : () -> f32
        %5 = arith.mulf %a, %b : f32
        %6 = arith.mulf %5, %c : f32
        %7 = arith.addf %4, %6 : f32
        "slc.set"(%7) <{variable = "total"}> : (f32) -> ()
      }) : (!slc.stream<f32>, !slc.stream<f32>, !slc.stream<f32>) -> ()
    }) {statement = 1 : i64} : (i32, i32) -> ()
    func.return
  }
}
