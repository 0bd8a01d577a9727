// Of an array that begins as zeros, a sum begins as 0, and is stored once.

// CHECK: scf.for %b
// CHECK: [[RUNS:%.*]] = arith.cmpi slt, %lower, %upper : i32
// CHECK: scf.if [[RUNS]] {
// CHECK: [[NONE:%.*]] = arith.constant dense<0.000000e+00> : vector<4xf32>
// CHECK: "slc.set"([[NONE]]) <{variable = "kept_0"}>
// CHECK: scf.for %p
// CHECK: [[SUM:%.*]] = "slc.get"() <{variable = "kept_0"}>
// CHECK: arith.addf [[SUM]], %row : vector<4xf32>
// CHECK-NOT: vector.store
// CHECK: "slc.set"({{.*}}) <{variable = "kept_0"}>
// CHECK: [[END:%.*]] = "slc.get"() <{variable = "kept_0"}>
// CHECK: vector.store [[END]], %out
func.func @f(%x: memref<20x4xf32>, %o: memref<4xi32>, %out: memref<3x4xf32>) attributes {names = "x,o,out"} {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %three = arith.constant 3 : i32
  %k0 = arith.index_cast %zero : i32 to index
  scf.for %b = %zero to %three step %one : i32 {
    %k = arith.index_cast %b : i32 to index
    %next = arith.addi %b, %one : i32
    %n = arith.index_cast %next : i32 to index
    %lower = memref.load %o[%k] : memref<4xi32>
    %upper = memref.load %o[%n] : memref<4xi32>
    scf.for %p = %lower to %upper step %one : i32 {
      %at = arith.index_cast %p : i32 to index
      %row = vector.load %x[%at, %k0] : memref<20x4xf32>, vector<4xf32>
      %sum = vector.load %out[%k, %k0] : memref<3x4xf32>, vector<4xf32>
      %more = arith.addf %sum, %row : vector<4xf32>
      vector.store %more, %out[%k, %k0] : memref<3x4xf32>, vector<4xf32>
      scf.yield
    }
    scf.yield
  }
  func.return
}
