// Two sums at a time, each in a variable of its own.

// CHECK: scf.for %s
// CHECK: "slc.set"({{.*}}) <{variable = "total_0"}>
// CHECK: "slc.set"({{.*}}) <{variable = "total_1"}>
// CHECK: scf.for %e
// CHECK: "slc.get"() <{variable = "total_0"}>
// CHECK: "slc.get"() <{variable = "total_1"}>
// CHECK: "slc.get"() <{variable = "total_0"}>
// CHECK: memref.store
// CHECK: "slc.get"() <{variable = "total_1"}>
// CHECK: memref.store
// CHECK: scf.for %s
// CHECK: "slc.set"({{.*}}) <{variable = "total"}>
func.func @f(%x: memref<5x8xf32>, %out: memref<5xf32>) attributes {names = "x,out"} {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %five = arith.constant 5 : i32
  %eight = arith.constant 8 : i32
  %nothing = arith.constant 0.0 : f32
  scf.for %s = %zero to %five step %one : i32 {
    %row = arith.index_cast %s : i32 to index
    "slc.set"(%nothing) <{variable = "total"}> : (f32) -> ()
    scf.for %e = %zero to %eight step %one : i32 {
      %column = arith.index_cast %e : i32 to index
      %value = memref.load %x[%row, %column] : memref<5x8xf32>
      %total = "slc.get"() <{variable = "total"}> : () -> f32
      %more = arith.addf %total, %value : f32
      "slc.set"(%more) <{variable = "total"}> : (f32) -> ()
      scf.yield
    }
    %sum = "slc.get"() <{variable = "total"}> : () -> f32
    memref.store %sum, %out[%row] : memref<5xf32>
    scf.yield
  }
  func.return
}
