// Elements at a distance from the iteration's own one are neighbours, too; every second one is not.

// CHECK: [[LATER:%.*]] = arith.addi %e, %one
// CHECK: [[EARLIER:%.*]] = arith.subi %e, %one
// CHECK: [[FROM:%.*]] = arith.index_cast [[LATER]]
// CHECK: [[TO:%.*]] = arith.index_cast [[EARLIER]]
// CHECK: [[VECTOR:%.*]] = vector.load %x{{.}}[[FROM]]{{.}} : memref<10xf32>, vector<4xf32>
// CHECK: vector.store [[VECTOR]], %out{{.}}[[TO]]{{.}}
// CHECK: scf.for
// CHECK-NOT: vector
func.func @f(%x: memref<10xf32>, %out: memref<10xf32>) attributes {names = "x,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %five = arith.constant 5 : i32
  %nine = arith.constant 9 : i32
  scf.for %e = %one to %nine step %one : i32 {
    %later = arith.addi %e, %one : i32
    %earlier = arith.subi %e, %one : i32
    %from = arith.index_cast %later : i32 to index
    %to = arith.index_cast %earlier : i32 to index
    %element = memref.load %x[%from] : memref<10xf32>
    memref.store %element, %out[%to] : memref<10xf32>
    scf.yield
  }
  scf.for %e = %zero to %five step %one : i32 {
    %twice = arith.addi %e, %e : i32
    %from = arith.index_cast %twice : i32 to index
    %to = arith.index_cast %e : i32 to index
    %element = memref.load %x[%from] : memref<10xf32>
    memref.store %element, %out[%to] : memref<10xf32>
    scf.yield
  }
  func.return
}
