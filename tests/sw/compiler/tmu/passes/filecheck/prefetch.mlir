// Rows that later indices tell, and the line of indices behind those.

// CHECK: scf.for %p
// CHECK: [[LATER:%.*]] = memref.load %i
// CHECK: "flat.fetch"(%i,
// CHECK: %index = memref.load %i
// CHECK: [[ROW:%.*]] = arith.index_cast [[LATER]]
// CHECK: "flat.fetch"(%x, [[ROW]],
// CHECK: vector.load %x
func.func @f(%x: memref<9x4xf32>, %i: memref<20xi32>, %out: memref<20x4xf32>, %n: memref<i32>) attributes {names = "x,i,out,n"} {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %end = memref.load %n[] : memref<i32>
  %k0 = arith.index_cast %zero : i32 to index
  scf.for %p = %zero to %end step %one : i32 {
    %at = arith.index_cast %p : i32 to index
    %index = memref.load %i[%at] : memref<20xi32>
    %row = arith.index_cast %index : i32 to index
    %values = vector.load %x[%row, %k0] : memref<9x4xf32>, vector<4xf32>
    vector.store %values, %out[%at, %k0] : memref<20x4xf32>, vector<4xf32>
    scf.yield
  }
  func.return
}
