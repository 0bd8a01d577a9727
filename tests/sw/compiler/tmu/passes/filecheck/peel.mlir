// The first iteration takes what it loads, the others the larger one.

// CHECK: [[RUNS:%.*]] = arith.cmpi slt, %lower, %upper : i32
// CHECK: scf.if [[RUNS]] {
// CHECK-NOT: select
// CHECK: memref.store %element
// CHECK: [[SECOND:%.*]] = arith.addi %lower
// CHECK: scf.for %p = [[SECOND]] to %upper
// CHECK-NOT: select
// CHECK: arith.maximumf
// CHECK: memref.store %larger
func.func @f(%x: memref<20xf32>, %o: memref<4xi32>, %out: memref<1xf32>) attributes {names = "x,o,out"} {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %k0 = arith.index_cast %zero : i32 to index
  %k1 = arith.index_cast %one : i32 to index
  %lower = memref.load %o[%k0] : memref<4xi32>
  %upper = memref.load %o[%k1] : memref<4xi32>
  scf.for %p = %lower to %upper step %one : i32 {
    %at = arith.index_cast %p : i32 to index
    %element = memref.load %x[%at] : memref<20xf32>
    %again = memref.load %o[%k0] : memref<4xi32>
    %first = arith.cmpi eq, %p, %again : i32
    %most = memref.load %out[%k0] : memref<1xf32>
    %larger = arith.maximumf %most, %element : f32
    %chosen = arith.select %first, %element, %larger : f32
    memref.store %chosen, %out[%k0] : memref<1xf32>
    scf.yield
  }
  func.return
}
