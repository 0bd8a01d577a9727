// A local is a variable, not a place in memory.

// CHECK-NOT: memref.alloca
// CHECK: "slc.set"(%zero) <{variable = "best.0"}>
// CHECK: scf.for
// CHECK: [[OLD:%.*]] = "slc.get"() <{variable = "best.0"}>
// CHECK: [[NEW:%.*]] = arith.maximumf [[OLD]], %value
// CHECK: "slc.set"([[NEW]]) <{variable = "best.0"}>
// CHECK: [[LAST:%.*]] = "slc.get"() <{variable = "best.0"}>
// CHECK: memref.store [[LAST]], %out
func.func @f(%x: memref<9xf32>, %out: memref<f32>) attributes {names = "x,out"} {
  %first = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %nine = arith.constant 9 : i32
  %zero = arith.constant 0.0 : f32
  %best = memref.alloca() : memref<f32>
  memref.store %zero, %best[] : memref<f32>
  scf.for %i = %first to %nine step %one : i32 {
    %at = arith.index_cast %i : i32 to index
    %value = memref.load %x[%at] : memref<9xf32>
    %old = memref.load %best[] : memref<f32>
    %new = arith.maximumf %old, %value : f32
    memref.store %new, %best[] : memref<f32>
    scf.yield
  }
  %last = memref.load %best[] : memref<f32>
  memref.store %last, %out[] : memref<f32>
  func.return
}
