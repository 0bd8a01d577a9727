// Loops of an outer product: those that name the element come first, the one along rows last of
// them, and what is added to it behind.

// CHECK: scf.for [[I:%.*]] = {{.*}} {
// CHECK-NEXT: scf.for [[J:%.*]] = {{.*}} {
// CHECK-NEXT: scf.for [[K:%.*]] = {{.*}} {
// CHECK: [[ROW:%.*]] = arith.index_cast [[I]]
// CHECK: [[COLUMN:%.*]] = arith.index_cast [[J]]
// CHECK: [[INNER:%.*]] = arith.index_cast [[K]]
// CHECK: memref.load %a{{\[}}[[ROW]], [[INNER]]]
// CHECK: memref.store {{.*}}, %out{{\[}}[[ROW]], [[COLUMN]]]
func.func @f(%a: memref<8x4xf32>, %b: memref<4x16xf32>, %out: memref<8x16xf32>) attributes {names = "a,b,out"} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %four = arith.constant 4 : i32
  %eight = arith.constant 8 : i32
  %sixteen = arith.constant 16 : i32
  scf.for %k = %zero to %four step %one : i32 {
    scf.for %j = %zero to %sixteen step %one : i32 {
      scf.for %i = %zero to %eight step %one : i32 {
        %row = arith.index_cast %i : i32 to index
        %column = arith.index_cast %j : i32 to index
        %inner = arith.index_cast %k : i32 to index
        %left = memref.load %a[%row, %inner] : memref<8x4xf32>
        %right = memref.load %b[%inner, %column] : memref<4x16xf32>
        %product = arith.mulf %left, %right : f32
        %before = memref.load %out[%row, %column] : memref<8x16xf32>
        %sum = arith.addf %before, %product : f32
        memref.store %sum, %out[%row, %column] : memref<8x16xf32>
        scf.yield
      }
      scf.yield
    }
    scf.yield
  }
  func.return
}
